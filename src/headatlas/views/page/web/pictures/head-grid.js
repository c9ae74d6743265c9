/** Layers x heads as a picture to choose from, by pointer or arrow keys: large in its own view, small on the card. */

import { scaled } from "../data/measures.js";
import { picture, svg } from "../dom.js";
import { tip } from "../tip.js";
import { headAt, onHeadKeys } from "./choosing.js";

const SMALLEST_NUMBER = 8.5; // pixels of a number in a cell
const TICK = { width: 22, height: 13 }; // pixels that the number of a head or of a layer needs
const FADED = 0.13; // opacity of heads that are not among those chosen

/** @typedef {ReturnType<typeof headGrid>} HeadGrid */

/**
 * @param {Heads} heads
 * @param {{pitch: number, tall?: number, gap: number, axes: boolean, label: string, id: string,
 *          choose: (index: number) => void, say: (index: number) => string[], press?: (index: number) => void,
 *          over?: (index: number) => void}} options
 *   `pitch` is from head to head, `tall` from layer to layer, the same if not given; `choose(index)` follows clicks and
 *   arrow keys; `press(index)` follows clicks, Enter and the space bar, for grids that do something to a head;
 *   `over(index)` follows the pointer, -1 between heads; `say(index)` gives the lines of the note beside the pointer,
 *   which are the head's name for a screen reader too
 */
export function headGrid(heads, options) {
  const { pitch, tall = pitch, gap, axes, label, id, choose, say, press = () => {}, over = () => {} } = options;
  const margin = axes ? { left: 58, top: 28 } : { left: gap, top: gap };
  const total = {
    width: margin.left + heads.widest * pitch + gap,
    height: margin.top + heads.layers * tall + gap,
  };
  const size = { width: pitch - gap, height: tall - gap };
  const least = Math.min(size.width, size.height);
  /** @param {number} index */
  const place = (index) => {
    const { layer, head } = heads.at(index);
    return { x: margin.left + (head - 1) * pitch, y: margin.top + (layer - 1) * tall };
  };
  const node = picture(total, label, { tabindex: 0, role: "grid", class: "headgrid", "data-arrows": "" });
  const under = svg("g");
  const rows = heads.perLayer.map((_, layer) => svg("g", { role: "row", "aria-label": `Layer ${layer + 1}` }));
  const cells = Array.from({ length: heads.total }, (_, index) => {
    const box = { ...place(index), ...size, rx: Math.min(3, least / 6) };
    const cell = svg("rect", { ...box, role: "gridcell", id: `${id}-${index}`, "data-head": index });
    rows[heads.at(index).layer - 1].append(cell);
    return cell;
  });
  const above = svg("g", { "pointer-events": "none" });
  /** @type {SVGElement[]} */
  const drawn = [];
  /** @param {number} thick */
  const newRing = (thick) => {
    const square = { width: size.width + 3, height: size.height + 3, rx: Math.min(4, least / 5), visibility: "hidden" };
    return svg("rect", { ...square, fill: "none", "pointer-events": "none", "stroke-width": thick });
  };
  const ring = newRing(Math.min(3, Math.max(2, least / 13)));
  const glanced = newRing(1.6);
  const ticks = svg("g", { "font-size": 12, "aria-hidden": "true" });
  if (axes) {
    for (const head of ticked(heads.widest, pitch, TICK.width)) {
      const text = head > 1 || pitch < 42 ? String(head) : "head 1";
      const at = { x: margin.left + (head - 1) * pitch + size.width / 2, y: margin.top - 8, "text-anchor": "middle" };
      ticks.append(svg("text", { ...at, text }));
    }
    for (const layer of ticked(heads.layers, tall, TICK.height)) {
      const y = margin.top + (layer - 1) * tall + size.height / 2 + 4;
      ticks.append(svg("text", { x: margin.left - 8, y, "text-anchor": "end", text: `layer ${layer}` }));
    }
  }
  node.append(ticks, under, ...rows, above, glanced, ring);

  let chosen = 0;
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
  node.addEventListener("pointerleave", () => {
    over(-1);
    tip(null, null);
  });
  onHeadKeys(node, {
    current: () => chosen,
    move: (head, key) => heads.move(head, key),
    choose(target) {
      choose(target);
      const { left, top, height } = cells[target].getBoundingClientRect();
      if (node.matches(":focus")) tip({ clientX: left, clientY: top + height }, say(target));
    },
    press,
  });
  node.addEventListener("blur", () => tip(null, null));

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
    /**
     * Colour every cell.
     * @param {(index: number) => string} fill @param {Palette} palette @param {string} chosen colour of the ring
     */
    paint(fill, palette, chosen = palette.picked) {
      ticks.setAttribute("fill", palette.faint);
      ring.setAttribute("stroke", chosen);
      glanced.setAttribute("stroke", palette.picked);
      cells.forEach((cell, index) => {
        cell.setAttribute("fill", fill(index));
        cell.setAttribute("aria-label", say(index).join(", "));
      });
    },
    /** Write the values into the cells, if these are large enough. @param {Measure} measure @param {Palette} palette */
    write(measure, palette) {
      const share = scaled(measure);
      const fontSize = Math.min(14, size.width / 3.4, size.height / 1.7);
      if (fontSize < SMALLEST_NUMBER) return;
      measure.values.forEach((value, index) => {
        if (Number.isNaN(value)) return;
        const { x, y } = place(index);
        const text = measure.share ? String(Math.round(100 * value)) : measure.format(value);
        const at = { x: x + size.width / 2, y: y + size.height / 2 + fontSize * 0.36, "text-anchor": "middle" };
        above.append(svg("text", { ...at, text, "font-size": fontSize, fill: palette.onShade(share(index)) }));
      });
    },
    /** The middle of a head's cell; null for -1. @param {number} index */
    point(index) {
      if (index < 0) return null;
      const { x, y } = place(index);
      return { x: x + size.width / 2, y: y + size.height / 2 };
    },
    /** Draw upon the cell of a head, which fades with it. @param {number} index @param {...SVGElement} marks */
    draw(index, ...marks) {
      const group = svg("g", {}, ...marks);
      drawn[index] = group;
      above.append(group);
    },
    /** Fade the heads that fail a test; none without one. @param {((index: number) => boolean)|null} test */
    fade(test) {
      cells.forEach((cell, index) => {
        const opacity = !test || test(index) ? "1" : String(FADED);
        cell.setAttribute("opacity", opacity);
        drawn[index]?.setAttribute("opacity", opacity);
      });
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

/**
 * The numbers of heads or layers that are written beside a grid: all, or the first and the multiples of a step.
 * @param {number} number @param {number} pitch @param {number} space pixels that a number needs
 */
function ticked(number, pitch, space) {
  const step = [1, 2, 4, 5, 8, 10, 16, 20, 40].find((each) => each * pitch >= space) ?? 80;
  const all = Array.from({ length: number }, (_, place) => place + 1);
  return all.filter((place) => place % step === 0 || (place === 1 && step > 2));
}
