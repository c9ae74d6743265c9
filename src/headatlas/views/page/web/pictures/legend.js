/** What colours mean. */

import { svg, textWidth } from "../dom.js";

const STEPS = 24;
const SIZE = 12; // pixels of a letter

/**
 * A bar from small to large with its two ends, drawn into a picture.
 * @param {Palette} palette @param {[number, number]} range @param {(value: number) => string} format
 * @param {string} title @param {number} x @param {number} y
 */
export function rampLegend(palette, [low, high], format, title, x, y, width = 160) {
  const bar = Array.from({ length: STEPS }, (_, step) => {
    const fill = palette.shade(step / (STEPS - 1));
    return svg("rect", { x: x + (step * width) / STEPS, y, width: width / STEPS + 0.5, height: 8, fill });
  });
  const ends = { y: y + 22, fill: palette.faint };
  return svg(
    "g",
    { "font-size": SIZE },
    ...bar,
    svg("text", { x, "text-anchor": "start", text: format(low), ...ends }),
    svg("text", { x: x + width, "text-anchor": "end", text: format(high), ...ends }),
    svg("text", { x: x + width + 14, y: y + 9, fill: palette.ink, text: title }),
  );
}

/**
 * Dots with words, in rows that fit a width.
 * @param {Palette} palette @param {[label: string, colour: string][]} entries
 * @param {number} x @param {number} y @param {number} width
 */
export function kindLegend(palette, entries, x, y, width) {
  const node = svg("g", { "font-size": SIZE });
  let [left, top] = [x, y];
  for (const [label, colour] of entries) {
    const wide = 22 + textWidth(label, SIZE);
    if (left > x && left + wide > x + width) [left, top] = [x, top + 20];
    node.append(
      svg("circle", { cx: left + 5, cy: top, r: 5, fill: colour }),
      svg("text", { x: left + 14, y: top + 4, fill: palette.ink, text: label }),
    );
    left += wide + 10;
  }
  return { node, height: top - y + 16 };
}
