/** Layers x heads as a picture to choose from, by pointer or arrow keys: large in its own view, small on the card. */

import { scaled } from "../data/measures.js";
import { picture, svg } from "../dom.js";
import { tip } from "../tip.js";

const SMALLEST_NUMBER = 8.5; // pixels of a number in a cell

/** @typedef {ReturnType<typeof headGrid>} HeadGrid */

/**
 * @param {Heads} heads
 * @param {{pitch: number, gap: number, axes: boolean, label: string, id: string, choose: (index: number) => void,
 *          say: (index: number) => string[], press?: (index: number) => void, over?: (index: number) => void}} options
 *   `choose(index)` follows clicks and arrow keys; `press(index)` follows clicks, Enter and the space bar, for grids
 *   that do something to a head; `over(index)` follows the pointer, -1 between heads; `say(index)` gives the lines of
 *   the note beside the pointer, which are the head's name for a screen reader too
 */
export function headGrid(heads, { pitch, gap, axes, label, id, choose, say, press = () => {}, over = () => {} }) {
  const margin = axes ? { left: 58, top: 28 } : { left: gap, top: gap };
  const total = {
    width: margin.left + heads.widest * pitch + gap,
    height: margin.top + heads.layers * pitch + gap,
  };
  const size = pitch - gap;
  /** @param {number} index */
  const place = (index) => {
    const { layer, head } = heads.at(index);
    return { x: margin.left + (head - 1) * pitch, y: margin.top + (layer - 1) * pitch };
  };
  const node = picture(total, label, { tabindex: 0, role: "grid", class: "headgrid" });
  const under = svg("g");
  const rows = heads.perLayer.map((_, layer) => svg("g", { role: "row", "aria-label": `Layer ${layer + 1}` }));
  const cells = Array.from({ length: heads.total }, (_, index) => {
    const square = { ...place(index), width: size, height: size, rx: Math.min(3, size / 6) };
    const cell = svg("rect", { ...square, role: "gridcell", id: `${id}-${index}`, "data-head": index });
    rows[heads.at(index).layer - 1].append(cell);
    return cell;
  });
  const above = svg("g", { "pointer-events": "none" });
  /** @param {number} thick */
  const newRing = (thick) => {
    const square = { width: size + 3, height: size + 3, rx: Math.min(4, size / 5), visibility: "hidden" };
    return svg("rect", { ...square, fill: "none", "pointer-events": "none", "stroke-width": thick });
  };
  const ring = newRing(Math.min(3, Math.max(2, pitch / 14)));
  const glanced = newRing(1.6);
  const ticks = svg("g", { "font-size": 12, "aria-hidden": "true" });
  if (axes) {
    const middle = size / 2;
    for (let head = 0; head < heads.widest; head += 1) {
      const text = head || pitch < 42 ? String(head + 1) : "head 1";
      const at = { x: margin.left + head * pitch + middle, y: margin.top - 8, "text-anchor": "middle" };
      ticks.append(svg("text", { ...at, text }));
    }
    heads.perLayer.forEach((_, layer) => {
      const at = { x: margin.left - 8, y: margin.top + layer * pitch + middle + 4, "text-anchor": "end" };
      ticks.append(svg("text", { ...at, text: `layer ${layer + 1}` }));
    });
  }
  node.append(ticks, under, ...rows, above, glanced, ring);

  let chosen = 0;
  /** @param {Event} event */
  const headAt = (event) => Number(/** @type {SVGElement} */ (event.target).dataset.head ?? -1);
  node.addEventListener("click", (event) => {
    if (headAt(event) < 0) return;
    choose(headAt(event));
    press(headAt(event));
    tip(event, say(headAt(event)));
  });
  node.addEventListener("pointermove", (event) => {
    over(headAt(event));
    tip(event, headAt(event) >= 0 ? say(headAt(event)) : null);
  });
  node.addEventListener("pointerleave", (event) => {
    over(-1);
    tip(event, null);
  });
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      press(chosen);
      return;
    }
    const target = heads.move(chosen, event.key);
    if (target === chosen && !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    if (target !== chosen) choose(target);
  });

  /** @param {SVGElement} mark @param {number} index */
  function encircle(mark, index) {
    mark.setAttribute("visibility", index < 0 ? "hidden" : "visible");
    if (index < 0) return;
    const { x, y } = place(index);
    mark.setAttribute("x", String(x - 1.5));
    mark.setAttribute("y", String(y - 1.5));
  }

  return {
    node,
    total,
    under,
    above,
    place,
    size,
    /** Colour every cell. @param {(index: number) => string} fill @param {Palette} palette */
    paint(fill, palette) {
      ticks.setAttribute("fill", palette.faint);
      ring.setAttribute("stroke", palette.picked);
      glanced.setAttribute("stroke", palette.picked);
      cells.forEach((cell, index) => {
        cell.setAttribute("fill", fill(index));
        cell.setAttribute("aria-label", say(index).join(", "));
      });
    },
    /** Write the values into the cells, if these are large enough. @param {Measure} measure @param {Palette} palette */
    write(measure, palette) {
      const share = scaled(measure);
      const fontSize = Math.min(14, size / 3.4);
      if (fontSize < SMALLEST_NUMBER) return;
      measure.values.forEach((value, index) => {
        if (Number.isNaN(value)) return;
        const { x, y } = place(index);
        const text = measure.share ? String(Math.round(100 * value)) : measure.format(value);
        const at = { x: x + size / 2, y: y + size / 2 + fontSize * 0.36, "text-anchor": "middle" };
        above.append(svg("text", { ...at, text, "font-size": fontSize, fill: palette.onShade(share(index)) }));
      });
    },
    /** The middle of a head's cell; null for -1. @param {number} index */
    point(index) {
      if (index < 0) return null;
      const { x, y } = place(index);
      return { x: x + size / 2, y: y + size / 2 };
    },
    /** A thin ring around a head under the pointer; none for -1. @param {number} index */
    glance: (index) => encircle(glanced, index),
    /** Move the ring to the chosen head; none for -1. @param {number} index */
    select(index) {
      cells[chosen].removeAttribute("aria-selected");
      encircle(ring, index);
      if (index < 0) return;
      chosen = index;
      cells[index].setAttribute("aria-selected", "true");
      node.setAttribute("aria-activedescendant", `${id}-${index}`);
    },
  };
}
