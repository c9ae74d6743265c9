/** Layers x heads as a picture to choose from, by pointer or arrow keys: large in its own view, small on the card. */

import { FONT, svg } from "../dom.js";
import { tip } from "../tip.js";

/**
 * @param {object} heads
 * @param {{pitch: number, gap: number, axes: boolean, label: string, id: string, choose: Function, say: Function, press?: Function, over?: Function}} options
 *   `choose(index)` follows clicks and arrow keys; `press(index)` clicks, Enter and the space bar, where something is done to a head.
 *   `over(index)` follows the pointer, -1 where it is on no head.
 *   `say(index)` gives the lines of the note beside the pointer; the first is the head's name for a screen reader too.
 */
export function headGrid(heads, { pitch, gap, axes, label, id, choose, say, press = () => {}, over = () => {} }) {
  const margin = axes ? { left: 58, top: 28 } : { left: gap, top: gap };
  const width = margin.left + heads.widest * pitch + gap;
  const height = margin.top + heads.layers * pitch + gap;
  const size = pitch - gap;
  const place = (index) => {
    const { layer, head } = heads.at(index);
    return { x: margin.left + (head - 1) * pitch, y: margin.top + (layer - 1) * pitch };
  };
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    tabindex: 0,
    role: "grid",
    "aria-label": label,
    "font-family": FONT,
    class: "headgrid",
  });
  const under = svg("g");
  const rows = heads.perLayer.map((_, layer) => svg("g", { role: "row", "aria-label": `Layer ${layer + 1}` }));
  const cells = [];
  for (let index = 0; index < heads.total; index += 1) {
    const cell = svg("rect", {
      ...place(index),
      width: size,
      height: size,
      rx: Math.min(3, size / 6),
      role: "gridcell",
      id: `${id}-${index}`,
      "data-head": index,
    });
    cells.push(cell);
    rows[heads.at(index).layer - 1].append(cell);
  }
  const above = svg("g", { "pointer-events": "none" });
  const ring = svg("rect", {
    width: size + 3,
    height: size + 3,
    rx: Math.min(4, size / 5),
    fill: "none",
    "pointer-events": "none",
    "stroke-width": Math.min(3, Math.max(2, pitch / 14)),
  });
  const ticks = svg("g", { "font-size": 12, "aria-hidden": "true" });
  if (axes) {
    const label = (x, y, text, anchor) => svg("text", { x, y, text, "text-anchor": anchor });
    const middle = size / 2;
    for (let head = 0; head < heads.widest; head += 1) {
      ticks.append(
        label(
          margin.left + head * pitch + middle,
          margin.top - 8,
          head || pitch < 42 ? String(head + 1) : "head 1",
          "middle",
        ),
      );
    }
    heads.perLayer.forEach((_, layer) =>
      ticks.append(label(margin.left - 8, margin.top + layer * pitch + middle + 4, `layer ${layer + 1}`, "end")),
    );
  }
  const glanced = ring.cloneNode();
  glanced.setAttribute("stroke-width", 1.6);
  glanced.setAttribute("visibility", "hidden");
  picture.append(ticks, under, ...rows, above, glanced, ring);

  const headOf = (event) => Number(event.target.dataset?.head ?? -1);
  picture.addEventListener("click", (event) => {
    if (headOf(event) < 0) return;
    choose(headOf(event));
    press(headOf(event));
    tip(event, say(headOf(event)));
  });
  picture.addEventListener("pointermove", (event) => {
    over(headOf(event));
    tip(event, headOf(event) >= 0 ? say(headOf(event)) : null);
  });
  picture.addEventListener("pointerleave", (event) => {
    over(-1);
    tip(event, null);
  });
  let chosen = 0;
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      press(chosen);
      return;
    }
    const to = heads.move(chosen, event.key);
    if (to === chosen && !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    if (to !== chosen) choose(to);
  });

  function encircle(mark, index) {
    mark.setAttribute("visibility", index < 0 ? "hidden" : "visible");
    if (index < 0) return;
    const { x, y } = place(index);
    mark.setAttribute("x", x - 1.5);
    mark.setAttribute("y", y - 1.5);
  }

  return {
    node: picture,
    under,
    above,
    place,
    size,
    /** Colour every cell: a function from head to fill. */
    paint(fill, palette) {
      ticks.setAttribute("fill", palette.faint);
      ring.setAttribute("stroke", palette.picked);
      glanced.setAttribute("stroke", palette.picked);
      cells.forEach((cell, index) => {
        cell.setAttribute("fill", fill(index));
        cell.setAttribute("aria-label", say(index).join(", "));
      });
    },
    /** The middle of a head's cell; null where there is none. */
    point(index) {
      if (index < 0) return null;
      const { x, y } = place(index);
      return { x: x + size / 2, y: y + size / 2 };
    },
    /** A thin ring around a head that is looked at in passing; none for -1. */
    glance: (index) => encircle(glanced, index),
    /** Move the ring; none for -1. */
    select(index) {
      cells[chosen].removeAttribute("aria-selected");
      encircle(ring, index);
      if (index < 0) return;
      chosen = index;
      cells[index].setAttribute("aria-selected", "true");
      picture.setAttribute("aria-activedescendant", `${id}-${index}`);
    },
  };
}
