/** What colours mean. */

import { fitted, svg, textWidth } from "../dom.js";

const STEPS = 24;
const SIZE = 12; // pixels of a letter
const RAMP = 160; // pixels of the bar

/**
 * A bar from small to large with its two ends, and its title beside it, or below it in a narrow space.
 * @param {Palette} palette @param {[number, number]} range @param {(value: number) => string} format
 * @param {string} title @param {number} space pixels of the width
 */
export function rampLegend(palette, [low, high], format, title, space) {
  const bar = Array.from({ length: STEPS }, (_, step) => {
    const fill = palette.shade(step / (STEPS - 1));
    return svg("rect", { x: (step * RAMP) / STEPS, width: RAMP / STEPS + 0.5, height: 8, fill });
  });
  const text = fitted(title, SIZE, space);
  const wide = textWidth(text, SIZE);
  const beside = RAMP + 14 + wide <= space;
  const ends = { y: 22, fill: palette.faint };
  const node = svg(
    "g",
    { "font-size": SIZE },
    ...bar,
    svg("text", { x: 0, "text-anchor": "start", text: format(low), ...ends }),
    svg("text", { x: RAMP, "text-anchor": "end", text: format(high), ...ends }),
    svg("text", { x: beside ? RAMP + 14 : 0, y: beside ? 9 : 40, fill: palette.ink, text }),
  );
  return { node, width: Math.ceil(beside ? RAMP + 14 + wide : Math.max(RAMP, wide)), height: beside ? 30 : 46 };
}

/**
 * Dots with words, in rows that fit a width.
 * @param {Palette} palette @param {[label: string, colour: string][]} entries
 * @param {number} x @param {number} y @param {number} width @param {string} outline of the dots
 */
export function kindLegend(palette, entries, x, y, width, outline) {
  const node = svg("g", { "font-size": SIZE });
  let [left, top] = [x, y];
  for (const [label, colour] of entries) {
    const wide = 22 + textWidth(label, SIZE);
    if (left > x && left + wide > x + width) [left, top] = [x, top + 20];
    node.append(
      svg("circle", { cx: left + 5, cy: top, r: 5, fill: colour, stroke: outline }),
      svg("text", { x: left + 14, y: top + 4, fill: palette.ink, text: label }),
    );
    left += wide + 10;
  }
  return { node, height: top - y + 16 };
}
