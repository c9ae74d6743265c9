/** Parts of a card: a section, a table of strips, and a strip with the values of all heads on which some are marked. */

import { range } from "../data/measures.js";
import { element, svg } from "../dom.js";

export const STRIP = { width: 116, height: 16 };
const EDGE = 5.5; // pixels, so that a dot at either end is whole
const ASIDE = 3; // pixels between the heights of two dots, so that neither hides the other

/** @param {string} title @param {...import("../dom.js").Child} children */
export function section(title, ...children) {
  return element("section", {}, element("h3", { text: title }), ...children);
}

/** @param {string} text */
export function remark(text) {
  return element("p", { class: "remark", text });
}

/** @param {HTMLElement[]} rows */
export function stripTable(rows) {
  return element("table", { class: "strips" }, element("tbody", {}, ...rows));
}

/**
 * The values of a measure, one tick per head, with dots at some of them.
 * @param {Measure} measure
 * @param {[index: number, fill: string, measure?: Measure][]} marks a dot each; on the other side's measure if given
 * @param {Palette} colours @param {string} label
 */
export function strip(measure, marks, colours, label, width = STRIP.width) {
  const [low, high] = range(measure);
  const { height } = STRIP;
  /** @param {number} place */
  const aside = (place) => (place - (marks.length - 1) / 2) * ASIDE;
  /** @param {number} value */
  const at = (value) => (EDGE + ((value - low) / (high - low)) * (width - 2 * EDGE)).toFixed(1);
  let ticks = "";
  for (const value of measure.values) if (!Number.isNaN(value)) ticks += `M${at(value)} 4V${height - 4}`;
  const dots = marks.flatMap(([index, fill, { values } = measure], place) => {
    const value = values[index];
    if (value === undefined || Number.isNaN(value)) return [];
    return [svg("circle", { cx: at(value), cy: height / 2 + aside(place), r: 4.5, fill, stroke: colours.paper })];
  });
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    svg("path", { d: ticks, stroke: colours.faint, "stroke-opacity": 0.35 }),
    ...dots,
  );
}
