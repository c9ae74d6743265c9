/** Attention as lines from words on the left to words on the right, as in figures 1 and 5: darker is larger. */

import { FONT, fitted, svg, textWidth, visible } from "../dom.js";

const FAINTEST = 0.02; // share of the darkest line below which one would not be seen
const MOST_LINES = 6000; // of a long text: the darkest
const LEAST_DARKEST = 0.05; // weight: a head without larger ones is drawn faint
const WIDEST_WORD = 132;
const NUMBER_ROOM = 36;

/**
 * @param {{units: {text: string}[], weight: (from: number, to: number) => number, row: number, between: number, colours: object,
 *          gutter: {width: number, node: SVGElement}, label: string, point: Function, pin: Function}} scene
 *   `point` is told of the word under the pointer as {side, place} or null, `pin` of one that is clicked.
 */
export function linesPicture({ units, weight, row, between, colours, gutter, label, point, pin }) {
  const size = wordSize(row);
  const words = units.map((unit) => fitted(unit.text, size, WIDEST_WORD));
  const column = Math.max(40, ...words.map((word) => textWidth(word, size))) + 8;
  const left = gutter.width + NUMBER_ROOM + column;
  const right = left + between;
  const [width, height] = [right + column + NUMBER_ROOM, units.length * row + 8];
  const middle = (place) => 4 + place * row + row / 2;
  const picture = svg("svg", {
    viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
    width: Math.ceil(width),
    height: Math.ceil(height),
    tabindex: 0,
    role: "group",
    "aria-label": label,
    "font-family": FONT,
    "font-size": size,
  });
  const lines = svg("g", { fill: "none", stroke: colours.accent, "stroke-linecap": "round" });
  const numbers = svg("g", { "font-size": size * 0.85, fill: colours.faint });
  const columns = { from: [], to: [] };
  const texts = svg("g");
  for (const [side, x, anchor] of [
    ["from", left - 8, "end"],
    ["to", right + 8, "start"],
  ]) {
    words.forEach((word, place) => {
      const back = svg("rect", {
        x: side === "from" ? x - column + 2 : x - 5,
        y: middle(place) - row / 2 + 1,
        width: column + 3,
        height: row - 2,
        rx: 3,
        fill: "#00000000",
        "data-side": side,
        "data-place": place,
      });
      const text = svg("text", {
        x,
        y: middle(place) + size * 0.35,
        "text-anchor": anchor,
        fill: colours.ink,
        text: word,
        direction: "ltr",
        "pointer-events": "none",
      });
      text.append(svg("title", { text: visible(units[place].text) }));
      columns[side].push({ back, text });
      texts.append(back, text);
    });
  }
  picture.append(gutter.node, lines, texts, numbers);
  const unitOf = (event) => {
    const { side, place } = event.target.dataset ?? {};
    return side ? { side, place: Number(place) } : null;
  };
  picture.addEventListener("pointermove", (event) => point(unitOf(event)));
  picture.addEventListener("pointerleave", () => point(null));
  picture.addEventListener("click", (event) => pin(unitOf(event)));

  const path = (from, to, width, opacity) => {
    const [start, end] = [middle(from), middle(to)];
    const bend = between * 0.42;
    const d = `M${left} ${start}C${left + bend} ${start} ${right - bend} ${end} ${right} ${end}`;
    return svg("path", { d, "stroke-width": width.toFixed(2), "stroke-opacity": opacity.toFixed(3) });
  };

  return {
    node: picture,
    middle,
    /** Draw the lines, with those of one word before all others. */
    draw(focus) {
      const paths = [];
      const darkest = largest(units.length, weight);
      const faintest = Math.max(FAINTEST, faintestOf(units.length, weight, MOST_LINES) / darkest);
      const said = [];
      for (let from = 0; from < units.length; from += 1) {
        for (let to = 0; to < units.length; to += 1) {
          const value = weight(from, to);
          const share = value / darkest;
          const own = !focus || (focus.side === "from" ? from : to) === focus.place;
          if (share < (focus && own ? FAINTEST : faintest)) continue;
          const opacity = own ? Math.min(1, 0.03 + 0.97 * share) : 0.05 * share;
          if (own || share > 0.2) paths.push(path(from, to, 0.8 + 2.6 * share, opacity));
          if (focus && own) said.push([focus.side === "from" ? to : from, value]);
        }
      }
      lines.replaceChildren(...paths);
      for (const [side, list] of Object.entries(columns)) {
        list.forEach(({ back }, place) => {
          const mine = focus?.side === side && focus.place === place;
          back.setAttribute("fill", mine ? colours.accent + "33" : "#00000000");
        });
      }
      numbers.replaceChildren(
        ...said.map(([place, value]) => {
          const to = focus.side === "from";
          const x = to ? right + column + 4 : gutter.width + NUMBER_ROOM - 6;
          const anchor = to ? "start" : "end";
          const text = `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;
          return svg("text", { x, y: middle(place) + size * 0.32, "text-anchor": anchor, text });
        }),
      );
    },
  };
}

/** Font size of the words for a height of their rows. */
export function wordSize(row) {
  return Math.min(row * 0.68, 9 + row * 0.22);
}

/** The largest weight shown, which is drawn darkest. */
export function largest(size, weight) {
  let most = LEAST_DARKEST;
  for (let from = 0; from < size; from += 1) {
    for (let to = 0; to < size; to += 1) most = Math.max(most, weight(from, to));
  }
  return most;
}

/** The weight below which lines are left away where there would be more than `most`. */
export function faintestOf(size, weight, most) {
  if (size * size <= most) return 0;
  const all = new Float64Array(size * size);
  for (let from = 0; from < size; from += 1) {
    for (let to = 0; to < size; to += 1) all[from * size + to] = weight(from, to);
  }
  return all.sort()[all.length - most];
}
