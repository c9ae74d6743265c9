/**
 * Weights as a matrix, of one head or the mean of several: a row for each word that attends, a column for each that is
 * attended to.
 */

import { percent } from "../data/frames.js";
import { element, fitted, picture, svg, textWidth, visible } from "../dom.js";
import { tip } from "../tip.js";
import { channels } from "./palette.js";

const LONGEST_LABEL = 78;
const SMALLEST_CELL = 8.5;
const LARGEST_FONT = 14;

/**
 * @param {{units: Unit[], weight: (from: number, to: number) => number, space: number, tallest: number,
 *          colours: Palette, marks: {from: number, to: number, right: boolean}[], label: string,
 *          point: (focus: Focus) => void, pin: (focus: Focus) => void}} scene
 *   `space` is the width to fill, `tallest` the largest cell, `marks` are gold pairs, drawn as frames
 */
export function matrixPicture({ units, weight, space, tallest, colours, marks, label, point, pin }) {
  /** @param {number} size */
  const longest = (size) => {
    const widths = units.map((unit) => Math.min(LONGEST_LABEL, textWidth(visible(unit.text), size)));
    return Math.max(24, ...widths) + 10;
  };
  let [cell, size] = [tallest, LARGEST_FONT];
  for (let round = 0; round < 4; round += 1) {
    cell = Math.max(SMALLEST_CELL, Math.min(tallest, (space - longest(size) - 4) / units.length));
    size = Math.min(LARGEST_FONT, 3 + cell * 0.55); // labels and cells share the space: a few rounds settle it
  }
  const labels = units.map((unit) => fitted(unit.text, size, LONGEST_LABEL));
  const margin = longest(size);
  const side = units.length * cell;
  const total = Math.ceil(margin + side + 2);
  const node = picture({ width: total, height: total }, label, { "font-size": size });
  const square = { x: margin, y: margin, width: side, height: side };
  const href = pixels(units.length, weight, colours);
  const texts = labels.flatMap((text, place) => {
    const middle = margin + (place + 0.5) * cell + size * 0.35;
    const common = { fill: colours.ink, text, direction: "ltr" };
    return [
      svg("text", { x: margin - 5, y: middle, "text-anchor": "end", ...common }),
      svg("text", { transform: `translate(${middle} ${margin - 5}) rotate(-90)`, ...common }),
    ];
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
  const cross = svg("g", {
    fill: colours.accent,
    "fill-opacity": 0.16,
    "pointer-events": "none",
    "data-screen": true, // not in files
  });
  node.append(
    svg("image", { ...square, "image-rendering": "pixelated", href }),
    svg("rect", { ...square, fill: "none", stroke: colours.rule }),
    ...frames,
    ...texts,
    cross,
  );

  /** @param {MouseEvent} event */
  const cellAt = (event) => {
    const box = node.getBoundingClientRect();
    const scale = total / box.width;
    const to = Math.floor(((event.clientX - box.left) * scale - margin) / cell);
    const from = Math.floor(((event.clientY - box.top) * scale - margin) / cell);
    return from >= 0 && from < units.length && to >= 0 && to < units.length ? { from, to } : null;
  };
  node.addEventListener("pointermove", (event) => {
    const at = cellAt(event);
    point(at && { side: "from", place: at.from });
    tip(event, at && [`${labels[at.from]} → ${labels[at.to]}`, percent(weight(at.from, at.to), 1)]);
  });
  node.addEventListener("pointerleave", (event) => {
    point(null);
    tip(event, null);
  });
  node.addEventListener("click", (event) => {
    const at = cellAt(event);
    if (at) pin({ side: "from", place: at.from });
  });
  return {
    node,
    /** Highlight the rows and columns of words. @param {NonNullable<Focus>[]} focuses */
    draw(focuses) {
      const bands = focuses.map(({ side, place }) => {
        const along = margin + place * cell;
        const row = side === "from";
        return { x: row ? 0 : along, y: row ? along : 0, width: row ? total : cell, height: row ? cell : total };
      });
      cross.replaceChildren(...bands.map((band) => svg("rect", band)));
    },
  };
}

/**
 * One pixel per weight. Shades follow the square root, so that small weights differ visibly from none.
 * @param {number} size @param {(from: number, to: number) => number} weight @param {Palette} colours
 */
function pixels(size, weight, colours) {
  const canvas = element("canvas", { width: size, height: size });
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = pen.createImageData(size, size);
  const shades = Array.from({ length: 256 }, (_, level) => [...channels(colours.shade(level / 255)), 255]);
  for (let from = 0; from < size; from += 1) {
    for (let to = 0; to < size; to += 1) {
      const level = Math.min(255, Math.round(255 * Math.sqrt(weight(from, to))));
      image.data.set(shades[level], 4 * (from * size + to));
    }
  }
  pen.putImageData(image, 0, 0);
  return canvas.toDataURL();
}
