/** Mixing weights and differential scores: one row per task, the layers from left to right. */

import { gainShares } from "../data/layers.js";
import { fitted, picture, svg } from "../dom.js";
import { tip } from "../tip.js";

const ROW = { height: 78, gap: 14, label: 116, notes: 190, bottom: 34 };
const WIDEST = 64; // pixels of a layer

/**
 * @param {Row[]} mix one row per task and layer
 * @param {Row[]} summary one row per task @param {number} width @param {Palette} colours
 */
export function mixPicture(mix, summary, width, colours) {
  const layers = Math.max(0, ...mix.map(({ layer }) => layer)) + 1;
  const pitch = Math.max(12, Math.min(WIDEST, (width - ROW.label - ROW.notes) / layers));
  const total = {
    width: ROW.label + layers * pitch + ROW.notes,
    height: summary.length * (ROW.height + ROW.gap) + ROW.bottom,
  };
  const label = "Mixing weights and differential scores of each task by layer";
  const chart = picture(total, label, { "font-size": 12 });
  summary.forEach((about, place) => {
    const rows = mix.filter(({ task }) => task === about.task).sort((a, b) => a.layer - b.layer);
    const row = taskRow(about, rows, pitch, colours);
    row.setAttribute("transform", `translate(0 ${place * (ROW.height + ROW.gap)})`);
    chart.append(row);
  });
  const step = Math.ceil(24 / pitch);
  const axis = { fill: colours.faint, "text-anchor": "middle", y: total.height - 18 };
  for (let layer = 0; layer < layers; layer += step) {
    chart.append(svg("text", { x: ROW.label + (layer + 0.5) * pitch, text: String(layer), ...axis }));
  }
  const caption = { x: ROW.label, y: total.height - 3, fill: colours.faint, "font-size": 11 };
  chart.append(svg("text", { ...caption, text: "layer (0: embeddings)" }));
  chart.addEventListener("pointermove", (event) => {
    const { said } = /** @type {SVGElement} */ (event.target).dataset;
    tip(event, said ? JSON.parse(said) : null);
  });
  chart.addEventListener("pointerleave", (event) => tip(event, null));
  return chart;
}

/**
 * @param {Row} about the summary of the task
 * @param {Row[]} rows its layers @param {number} pitch @param {Palette} colours
 */
function taskRow(about, rows, pitch, colours) {
  const shares = gainShares(rows.map(({ differential }) => differential));
  const top = Math.max(...rows.map(({ weight }) => weight), ...shares, 0.01);
  const bottom = Math.max(0, ...shares.map((share) => -share));
  const scale = (ROW.height - 4) / (top + bottom);
  const zero = 2 + top * scale;
  /** @param {number} layer */
  const x = (layer) => ROW.label + (layer + 0.5) * pitch;
  const title = { "text-anchor": "end", "font-weight": 600, "font-size": 13, fill: colours.ink };
  const node = svg(
    "g",
    {},
    svg("text", { x: ROW.label - 10, y: zero - 4, text: fitted(about.task, 13, ROW.label - 12), ...title }),
    ...statistic(about.centre_of_gravity, about.centre_low, about.centre_high, null),
    ...statistic(about.expected_layer, about.expected_low, about.expected_high, "4 3"),
    ...rows.flatMap(bars),
    svg("path", { d: `M${ROW.label} ${zero}H${ROW.label + rows.length * pitch}`, stroke: colours.rule }),
    ...notesOf(about).map((text, line) => {
      const fill = line ? colours.faint : colours.ink;
      return svg("text", { x: ROW.label + rows.length * pitch + 14, y: 18 + line * 16, fill, text });
    }),
  );
  return node;

  /**
   * A line at a statistic, with its interval.
   * @param {number|null} value @param {number|null} low @param {number|null} high @param {string|null} dash
   */
  function statistic(value, low, high, dash) {
    if (value === null || value < -0.5 || value > rows.length - 0.5) return [];
    const [from, to] = [Math.max(-0.5, low ?? value), Math.min(rows.length - 0.5, high ?? value)];
    const interval = { x: x(from), y: 0, width: Math.max(0, x(to) - x(from)), height: ROW.height };
    const line = { d: `M${x(value)} 0V${ROW.height}`, stroke: colours.ink, "stroke-width": 1.4 };
    return [
      svg("rect", { ...interval, fill: colours.ink, "fill-opacity": 0.08 }),
      svg("path", { ...line, "stroke-dasharray": dash }),
    ];
  }

  /** The weight, the gain, and an area for the pointer. @param {Row} row @param {number} place */
  function bars({ layer, weight, differential, cumulative, low, high }, place) {
    const share = shares[place];
    const bar = { x: x(layer) - pitch * 0.4, width: pitch * 0.8 };
    const [weightTall, gainTall] = [weight * scale, Math.abs(share) * scale];
    /** @param {number} value */
    const points = (value) => (100 * value).toFixed(1);
    const said = JSON.stringify([
      `${about.task}, layer ${layer}`,
      `weight ${weight.toFixed(3)}`,
      `score up to here ${points(cumulative)} (${points(low)} to ${points(high)})`,
      ...(differential === null ? [] : [`adds ${points(differential)} points`]),
    ]);
    const gain = { y: share > 0 ? zero - gainTall : zero, height: gainTall, fill: "none", stroke: colours.kind(3) };
    const area = { x: x(layer) - pitch / 2, y: 0, width: pitch, height: ROW.height, fill: "transparent" };
    return [
      svg("rect", { ...bar, y: zero - weightTall, height: weightTall, fill: colours.accent, "fill-opacity": 0.75 }),
      svg("rect", { ...bar, ...gain, "stroke-width": 1.6 }),
      svg("rect", { ...area, "data-said": said, "data-layer": layer }),
    ];
  }
}

/** @param {Row} about */
function notesOf({ score, centre_of_gravity: centre, expected_layer: expected, kl }) {
  /** @param {number|null} value @param {number} digits */
  const number = (value, digits) => (value === null ? "none" : value.toFixed(digits));
  return [
    `micro F1 ${number(100 * score, 1)}`,
    `centre of gravity ${number(centre, 2)}`,
    `expected layer ${number(expected, 2)}`,
    `KL from equal weights ${number(kl, 2)}`,
  ];
}
