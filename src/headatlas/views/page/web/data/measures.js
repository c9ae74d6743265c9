/** One number for every head, taken from any table with a row for most heads: what grid, map and card show. */

import { numberFormat, percent } from "./frames.js";
import { isKey, isMeasure, isShare, measureLabel } from "./tables.js";

const COVERED = 0.5; // share of the heads that must have a value

/**
 * All measures of the tables, in their order.
 * @param {Map<string, Frame>} frames @param {Heads} heads @param {Special} special
 */
export function measuresOf(frames, heads, special) {
  return [...frames].flatMap(([table, frame]) =>
    frame.has("layer", "head") ? measuresOfTable(table, frame, heads, special) : [],
  );
}

/** @param {string} table @param {Frame} frame @param {Heads} heads @param {Special} special @returns {Measure[]} */
function measuresOfTable(table, frame, heads, special) {
  const keys = frame.columns.filter(isKey).map(({ name }) => name);
  const numbers = frame.columns.filter((column) => isMeasure(table, column));
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (let row = 0; row < frame.length; row += 1) {
    const id = keys.map((name) => frame.get(name)[row]).join("/");
    const rows = groups.get(id);
    if (rows) rows.push(row);
    else groups.set(id, [row]);
  }
  const measures = [];
  for (const [keyId, rows] of groups) {
    for (const { name } of numbers) {
      const values = valuesOf(frame, rows, name, heads);
      const covered = values.reduce((sum, value) => sum + Number(!Number.isNaN(value)), 0);
      if (covered < COVERED * heads.total) continue;
      const key = Object.fromEntries(keys.map((column) => [column, frame.get(column)[rows[0]]]));
      const share = isShare(table, name);
      const format = share ? (/** @type {number} */ value) => percent(value, 1) : numberFormat(values);
      const id = [table, keyId, name === "value" || numbers.length === 1 ? "" : name].filter(Boolean).join("/");
      const label = measureLabel(table, key, name, special);
      measures.push({ id, label, group: table, values, format, share, key });
    }
  }
  return measures;
}

/** @param {Frame} frame @param {number[]} rows @param {string} name @param {Heads} heads */
function valuesOf(frame, rows, name, heads) {
  const values = new Float64Array(heads.total).fill(NaN);
  const [layers, numbers, column] = [frame.get("layer"), frame.get("head"), frame.get(name)];
  for (const row of rows) {
    const index = heads.index(layers[row], numbers[row]);
    if (index >= 0 && column[row] !== null) values[index] = column[row];
  }
  return values;
}

/**
 * The smallest and the largest value; shares start at 0.
 * @param {Pick<Measure, "values"|"share"|"limits">} measure
 * @returns {[number, number]}
 */
export function range(measure) {
  if (measure.limits) return measure.limits;
  let [low, high] = [Infinity, -Infinity];
  for (const value of measure.values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  if (measure.share || (low > 0 && low < high / 4)) low = 0;
  return low === high ? [low, low + 1] : [low, high];
}

/** Where a head's value lies in the range of all heads, from 0 to 1; NaN if it has none. @param {Measure} measure */
export function scaled(measure) {
  const [low, high] = range(measure);
  return (/** @type {number} */ index) => (measure.values[index] - low) / (high - low);
}

/**
 * How many heads have a larger value, plus one; and how many have a value.
 * @param {Measure} measure @param {number} index
 */
export function rank(measure, index) {
  const value = measure.values[index];
  let [above, all] = [0, 0];
  for (const other of measure.values) {
    if (Number.isNaN(other)) continue;
    all += 1;
    if (other > value) above += 1;
  }
  return { rank: above + 1, of: all };
}

/** The head with the largest value. @param {Measure} measure */
export function strongest({ values }) {
  let best = 0;
  values.forEach((value, index) => {
    if (value > values[best] || Number.isNaN(values[best])) best = index;
  });
  return best;
}
