/** One head's weights as a matrix: a row for each word that attends, a column for each that is attended to. */

import { FONT, element, fitted, svg, textWidth, visible } from "../dom.js";
import { channels } from "./palette.js";
import { tip } from "../tip.js";

const LONGEST_LABEL = 78;
const SMALLEST_CELL = 8.5;
const LARGEST_FONT = 14;

/**
 * @param {{units: {text: string}[], weight: Function, space: number, tallest: number, colours: object, marks: {from: number, to: number,
 *          right: boolean}[], point: Function, pin: Function}} scene  space: width to fill, tallest: largest cell, marks: gold pairs, drawn as frames
 */
export function matrixPicture({ units, weight, space, tallest, colours, marks, point, pin }) {
  const longest = (size) =>
    Math.max(24, ...units.map((unit) => Math.min(LONGEST_LABEL, textWidth(visible(unit.text), size)))) + 10;
  let [cell, size] = [tallest, LARGEST_FONT];
  for (let round = 0; round < 4; round += 1) {
    cell = Math.max(SMALLEST_CELL, Math.min(tallest, (space - longest(size) - 4) / units.length));
    size = Math.min(LARGEST_FONT, 3 + cell * 0.55); // labels and cells share the space: a few rounds settle it
  }
  const labels = units.map((unit) => fitted(unit.text, size, LONGEST_LABEL));
  const margin = longest(size);
  const side = units.length * cell;
  const total = Math.ceil(margin + side + 2);
  const picture = svg("svg", {
    viewBox: `0 0 ${total} ${total}`,
    width: total,
    height: total,
    role: "img",
    "aria-label": "The same weights as a matrix: rows attend to columns",
    "font-family": FONT,
    "font-size": size,
  });
  const image = svg("image", {
    x: margin,
    y: margin,
    width: side,
    height: side,
    "image-rendering": "pixelated",
    href: pixels(units.length, weight, colours),
  });
  const texts = labels.flatMap((label, place) => {
    const middle = margin + (place + 0.5) * cell;
    const row = svg("text", {
      x: margin - 5,
      y: middle + size * 0.35,
      "text-anchor": "end",
      fill: colours.ink,
      text: label,
      direction: "ltr",
    });
    const column = svg("text", {
      transform: `translate(${middle + size * 0.35} ${margin - 5}) rotate(-90)`,
      fill: colours.ink,
      text: label,
      direction: "ltr",
    });
    return [row, column];
  });
  const frames = marks.map(({ from, to, right }) =>
    svg("rect", {
      x: margin + to * cell + 0.75,
      y: margin + from * cell + 0.75,
      width: cell - 1.5,
      height: cell - 1.5,
      fill: "none",
      stroke: right ? colours.right : colours.wrong,
      "stroke-width": 1.8,
    }),
  );
  const cross = svg("g", { fill: colours.accent, "fill-opacity": 0.16, "pointer-events": "none", "data-screen": true });
  const border = svg("rect", { x: margin, y: margin, width: side, height: side, fill: "none", stroke: colours.rule });
  picture.append(image, border, ...frames, ...texts, cross);

  const cellAt = (event) => {
    const box = picture.getBoundingClientRect();
    const scale = total / box.width;
    const to = Math.floor(((event.clientX - box.left) * scale - margin) / cell);
    const from = Math.floor(((event.clientY - box.top) * scale - margin) / cell);
    return from >= 0 && from < units.length && to >= 0 && to < units.length ? { from, to } : null;
  };
  picture.addEventListener("pointermove", (event) => {
    const there = cellAt(event);
    point(there ? { side: "from", place: there.from } : null);
    tip(
      event,
      there && [`${labels[there.from]} → ${labels[there.to]}`, `${(100 * weight(there.from, there.to)).toFixed(1)} %`],
    );
  });
  picture.addEventListener("pointerleave", (event) => {
    point(null);
    tip(event, null);
  });
  picture.addEventListener("click", (event) => {
    const there = cellAt(event);
    if (there) pin({ side: "from", place: there.from });
  });
  return {
    node: picture,
    draw(focus) {
      if (!focus) return cross.replaceChildren();
      const along = margin + focus.place * cell;
      const row = focus.side === "from";
      const band = { x: row ? 0 : along, y: row ? along : 0, width: row ? total : cell, height: row ? cell : total };
      return cross.replaceChildren(svg("rect", band));
    },
  };
}

/** One pixel a weight. Shades follow the root of the weight, so that small ones can be told from none. */
function pixels(size, weight, colours) {
  const canvas = element("canvas", { width: size, height: size });
  const pen = canvas.getContext("2d");
  const picture = pen.createImageData(size, size);
  const shades = Array.from({ length: 256 }, (_, level) => [...channels(colours.shade(level / 255)), 255]);
  for (let from = 0; from < size; from += 1) {
    for (let to = 0; to < size; to += 1) {
      const level = Math.min(255, Math.round(255 * Math.sqrt(weight(from, to))));
      picture.data.set(shades[level], 4 * (from * size + to));
    }
  }
  pen.putImageData(picture, 0, 0);
  return canvas.toDataURL();
}
