/** Pieces of a card: a section, and a strip with the values of all heads on which some are marked. */

import { element, svg } from "../dom.js";
import { range } from "../data/measures.js";

export const STRIP = { width: 116, height: 16 };
const EDGE = 5.5; // pixels: a dot at either end is whole
const ASIDE = 3; // pixels between the heights of two dots, so that neither hides the other

export function section(title, ...children) {
  return element("section", {}, element("h3", { text: title }), ...children);
}

/**
 * The values of a measure, a tick a head, with dots at some of them.
 * @param {object} measure
 * @param {[number, string, object?][]} marks head and colour of each dot; of another side's measure where that is given
 */
export function strip(measure, marks, colours, label, width = STRIP.width) {
  const [low, high] = range(measure);
  const { height } = STRIP;
  const aside = (place) => (place - (marks.length - 1) / 2) * ASIDE;
  const at = (value) => (EDGE + ((value - low) / (high - low)) * (width - 2 * EDGE)).toFixed(1);
  let ticks = "";
  for (const value of measure.values) if (!Number.isNaN(value)) ticks += `M${at(value)} 4V${height - 4}`;
  const dots = marks
    .map(([index, fill, own = measure], place) => [own.values[index], fill, height / 2 + aside(place)])
    .filter(([value]) => value !== undefined && !Number.isNaN(value))
    .map(([value, fill, cy]) => svg("circle", { cx: at(value), cy, r: 4.5, fill, stroke: colours.paper }));
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    svg("path", { d: ticks, stroke: colours.faint, "stroke-opacity": 0.35 }),
    ...dots,
  );
}
