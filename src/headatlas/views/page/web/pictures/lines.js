/**
 * Attention as lines from words on the left to words on the right, as in figures 1 and 5: darker is larger. Several
 * heads have a colour each.
 */

import { percent } from "../data/frames.js";
import { fitted, picture, svg, textWidth, visible } from "../dom.js";

const FAINTEST = 0.02; // share of the darkest line below which a line would be invisible
const MOST_LINES = 6000; // in a long text: the darkest
const LEAST_DARKEST = 0.05; // weight: a head without larger ones is drawn faint
const WIDEST_WORD = { usual: 132, narrow: 84 };
const NUMBER_WIDTH = 44;
const BLOCKS = { width: 84, widest: 9 }; // pixels of all heads' squares beside a word, and of one at most
export const NARROW = 480; // pixels of a screen without room for them

/**
 * @typedef {(from: number, to: number) => number} Weight
 * @typedef {{weight: Weight, colour: string}} Band the lines of one head
 */

/**
 * @param {{units: Unit[], bands: Band[], empty: Set<number>, row: number, between: number, room: number,
 *          colours: Palette, gutter: {width: number, node: SVGElement}, label: string, point: (focus: Focus) => void,
 *          pin: (focus: Focus) => void}} scene
 *   `empty` are rows without attention; `room` is the width of the screen; `point` is called with the word under the
 *   pointer or null, `pin` with a word that is clicked
 */
export function linesPicture({ units, bands, empty, row, between, room, colours, gutter, label, point, pin }) {
  const size = wordSize(row);
  const narrow = room < NARROW;
  const words = units.map((unit) => fitted(unit.text, size, WIDEST_WORD[narrow ? "narrow" : "usual"]));
  const column = Math.max(40, ...words.map((word) => textWidth(word, size))) + 8;
  const block = bands.length > 1 && !narrow ? Math.min(BLOCKS.widest, BLOCKS.width / bands.length) : 0;
  const aside = NUMBER_WIDTH + block * bands.length;
  const left = gutter.width + aside + column;
  const right = left + between;
  const total = { width: Math.ceil(right + column + aside), height: Math.ceil(units.length * row + 8) };
  /** @param {number} place */
  const middle = (place) => 4 + place * row + row / 2;
  const node = picture(total, label, { tabindex: 0, role: "group", "font-size": size });
  const lines = svg("g", { fill: "none", "stroke-linecap": "round" });
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
      const fill = from && empty.has(place) ? colours.none : colours.ink;
      const text = svg("text", { x, y: middle(place) + size * 0.35, fill, text: word, ...common });
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

  /** @param {number} from @param {number} to @param {number} shift @param {Record<string, string>} look */
  const path = (from, to, shift, look) => {
    const [start, end] = [middle(from) + shift, middle(to) + shift];
    const bend = between * 0.42;
    const d = `M${left} ${start}C${left + bend} ${start} ${right - bend} ${end} ${right} ${end}`;
    return svg("path", { d, ...look });
  };

  /** What one side receives from the words singled out on the other, head by head. @param {"from"|"to"} side */
  function received(side, /** @type {number[]} */ singled) {
    if (!singled.length) return [];
    return units.flatMap((_, place) => {
      const sums = bands.map(({ weight }) =>
        singled.reduce((sum, other) => sum + (side === "to" ? weight(other, place) : weight(place, other)), 0),
      );
      const mean = sums.reduce((sum, value) => sum + value, 0) / sums.length;
      if (mean < 0.001) return [];
      const edge = side === "to" ? right + column : gutter.width + aside;
      const squares = sums.map((sum, head) =>
        svg("rect", {
          x: side === "to" ? edge + head * block : edge - (head + 1) * block,
          y: middle(place) - row * 0.3,
          width: Math.max(1, block - 1),
          height: row * 0.6,
          fill: bands[head].colour,
          "fill-opacity": Math.min(1, sum / singled.length).toFixed(3),
        }),
      );
      const at =
        side === "to"
          ? { x: edge + block * bands.length + 4, "text-anchor": "start" }
          : { x: edge - block * bands.length - 6, "text-anchor": "end" };
      const text = percent(mean, mean < 0.1 ? 1 : 0);
      return [...(block ? squares : []), svg("text", { ...at, y: middle(place) + size * 0.32, text })];
    });
  }

  return {
    node,
    /** Draw the lines, those of the words singled out before all others. @param {NonNullable<Focus>[]} focuses */
    draw(focuses) {
      const [from, to] = ["from", "to"].map((side) =>
        focuses.filter((focus) => focus.side === side).map(({ place }) => place),
      );
      const darkest = Math.max(LEAST_DARKEST, ...bands.map(({ weight }) => largest(units.length, weight)));
      const paths = bands.flatMap(({ weight, colour }, band) => {
        const faintest = Math.max(FAINTEST, faintestOf(units.length, weight, MOST_LINES / bands.length) / darkest);
        const shift = ((band - (bands.length - 1) / 2) * Math.min(3 * bands.length, row * 0.6)) / bands.length;
        const drawn = [];
        for (let start = 0; start < units.length; start += 1) {
          for (let end = 0; end < units.length; end += 1) {
            const share = weight(start, end) / darkest;
            const singled = from.includes(start) || to.includes(end);
            const focused = !focuses.length || singled;
            if (share < (singled ? FAINTEST : faintest) || (!focused && share <= 0.2)) continue;
            const opacity = focused ? Math.min(1, 0.03 + 0.97 * share) : 0.05 * share;
            const width = (0.8 + 2.6 * share) / (bands.length > 4 ? 1.6 : 1);
            const look = { stroke: colour, "stroke-width": width.toFixed(2), "stroke-opacity": opacity.toFixed(3) };
            drawn.push(path(start, end, shift, look));
          }
        }
        return drawn;
      });
      lines.replaceChildren(...paths);
      for (const [side, list] of Object.entries(backs)) {
        list.forEach((back, place) => {
          const focused = (side === "from" ? from : to).includes(place);
          back.setAttribute("fill", focused ? colours.accent + "33" : "#00000000");
        });
      }
      numbers.replaceChildren(...received("to", from), ...received("from", to));
    },
  };
}

/** Font size of the words for a height of their rows. @param {number} row */
export function wordSize(row) {
  return Math.min(row * 0.68, 9 + row * 0.22);
}

/** The largest weight, which is drawn darkest. @param {number} size @param {Weight} weight */
function largest(size, weight) {
  let most = 0;
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
  return all.sort()[all.length - Math.floor(most)];
}
