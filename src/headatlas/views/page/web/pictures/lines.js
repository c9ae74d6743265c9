/** Attention as lines from words on the left to words on the right, as in figures 1 and 5: darker is larger. */

import { percent } from "../data/frames.js";
import { fitted, picture, svg, textWidth, visible } from "../dom.js";

const FAINTEST = 0.02; // share of the darkest line below which a line would be invisible
const MOST_LINES = 6000; // in a long text: the darkest
const LEAST_DARKEST = 0.05; // weight: a head without larger ones is drawn faint
const WIDEST_WORD = 132;
const NUMBER_WIDTH = 36;

/** @typedef {(from: number, to: number) => number} Weight */

/**
 * @param {{units: Unit[], weight: Weight, row: number, between: number, colours: Palette,
 *          gutter: {width: number, node: SVGElement}, label: string, point: (focus: Focus) => void,
 *          pin: (focus: Focus) => void}} scene
 *   `point` is called with the word under the pointer or null, `pin` with a word that is clicked
 */
export function linesPicture({ units, weight, row, between, colours, gutter, label, point, pin }) {
  const size = wordSize(row);
  const words = units.map((unit) => fitted(unit.text, size, WIDEST_WORD));
  const column = Math.max(40, ...words.map((word) => textWidth(word, size))) + 8;
  const left = gutter.width + NUMBER_WIDTH + column;
  const right = left + between;
  const total = { width: Math.ceil(right + column + NUMBER_WIDTH), height: Math.ceil(units.length * row + 8) };
  /** @param {number} place */
  const middle = (place) => 4 + place * row + row / 2;
  const node = picture(total, label, { tabindex: 0, role: "group", "font-size": size });
  const lines = svg("g", { fill: "none", stroke: colours.accent, "stroke-linecap": "round" });
  const numbers = svg("g", { "font-size": size * 0.85, fill: colours.faint });
  const texts = svg("g");
  /** @type {Record<string, SVGElement[]>} */
  const backs = { from: [], to: [] };
  for (const side of ["from", "to"]) {
    const from = side === "from";
    const x = from ? left - 8 : right + 8;
    const common = { "text-anchor": from ? "end" : "start", direction: "ltr", "pointer-events": "none" };
    words.forEach((word, place) => {
      const back = svg("rect", {
        x: from ? x - column + 2 : x - 5,
        y: middle(place) - row / 2 + 1,
        width: column + 3,
        height: row - 2,
        rx: 3,
        fill: "#00000000",
        "data-side": side,
        "data-place": place,
      });
      const text = svg("text", { x, y: middle(place) + size * 0.35, fill: colours.ink, text: word, ...common });
      text.append(svg("title", { text: visible(units[place].text) }));
      backs[side].push(back);
      texts.append(back, text);
    });
  }
  node.append(gutter.node, lines, texts, numbers);
  /** @param {Event} event @returns {Focus} */
  const unitAt = (event) => {
    const { side, place } = /** @type {SVGElement} */ (event.target).dataset;
    return side ? { side, place: Number(place) } : null;
  };
  node.addEventListener("pointermove", (event) => point(unitAt(event)));
  node.addEventListener("pointerleave", () => point(null));
  node.addEventListener("click", (event) => pin(unitAt(event)));

  /** @param {number} from @param {number} to @param {number} width @param {number} opacity */
  const path = (from, to, width, opacity) => {
    const [start, end] = [middle(from), middle(to)];
    const bend = between * 0.42;
    const d = `M${left} ${start}C${left + bend} ${start} ${right - bend} ${end} ${right} ${end}`;
    return svg("path", { d, "stroke-width": width.toFixed(2), "stroke-opacity": opacity.toFixed(3) });
  };

  return {
    node,
    /** Draw the lines, those of one word before all others. @param {Focus} focus */
    draw(focus) {
      const paths = [];
      /** @type {[place: number, weight: number][]} */
      const weights = [];
      const darkest = largest(units.length, weight);
      const faintest = Math.max(FAINTEST, faintestOf(units.length, weight, MOST_LINES) / darkest);
      for (let from = 0; from < units.length; from += 1) {
        for (let to = 0; to < units.length; to += 1) {
          const value = weight(from, to);
          const share = value / darkest;
          const focused = !focus || (focus.side === "from" ? from : to) === focus.place;
          if (share < (focus && focused ? FAINTEST : faintest)) continue;
          const opacity = focused ? Math.min(1, 0.03 + 0.97 * share) : 0.05 * share;
          if (focused || share > 0.2) paths.push(path(from, to, 0.8 + 2.6 * share, opacity));
          if (focus && focused) weights.push([focus.side === "from" ? to : from, value]);
        }
      }
      lines.replaceChildren(...paths);
      for (const [side, list] of Object.entries(backs)) {
        list.forEach((back, place) => {
          const focused = focus?.side === side && focus.place === place;
          back.setAttribute("fill", focused ? colours.accent + "33" : "#00000000");
        });
      }
      const at =
        focus?.side === "from"
          ? { x: right + column + 4, "text-anchor": "start" }
          : { x: gutter.width + NUMBER_WIDTH - 6, "text-anchor": "end" };
      const texts = weights.map(([place, value]) =>
        svg("text", { ...at, y: middle(place) + size * 0.32, text: percent(value, value < 0.1 ? 1 : 0) }),
      );
      numbers.replaceChildren(...texts);
    },
  };
}

/** Font size of the words for a height of their rows. @param {number} row */
export function wordSize(row) {
  return Math.min(row * 0.68, 9 + row * 0.22);
}

/** The largest weight, which is drawn darkest. @param {number} size @param {Weight} weight */
function largest(size, weight) {
  let most = LEAST_DARKEST;
  for (let from = 0; from < size; from += 1) {
    for (let to = 0; to < size; to += 1) most = Math.max(most, weight(from, to));
  }
  return most;
}

/**
 * The weight below which lines are omitted if there would be more than `most`.
 * @param {number} size @param {Weight} weight @param {number} most
 */
export function faintestOf(size, weight, most) {
  if (size * size <= most) return 0;
  const all = new Float64Array(size * size);
  for (let from = 0; from < size; from += 1) {
    for (let to = 0; to < size; to += 1) all[from * size + to] = weight(from, to);
  }
  return all.sort()[all.length - most];
}
