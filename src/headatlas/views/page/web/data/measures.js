/** One number for every head, taken from any table with a row for most heads: what grid, map and card show. */

import { numberFormat, percent } from "./frames.js";

const COVERED = 0.5; // share of the heads that must have a value
const IN_PERCENT = new Set(["share", "accuracy"]); // units
/** The heading on the card of a head under which stands where it looks. */
export const ATTENDS_TO = "What it attends to";

/**
 * All measures of the tables, in their order.
 * @param {Map<string, Frame>} frames @param {Record<string, Pick<PackedTable, "measures">>} tables @param {Heads} heads
 */
export function measuresOf(frames, tables, heads) {
  return [...frames].flatMap(([table, frame]) => measuresOfTable(table, frame, tables[table].measures, heads));
}

/**
 * @param {string} table @param {Frame} frame @param {DeclaredMeasure[]} declared @param {Heads} heads
 * @returns {Measure[]}
 */
function measuresOfTable(table, frame, declared, heads) {
  if (!declared.length) return [];
  const groups = rowsByKey(frame, Object.keys(declared[0].key));
  const single = new Set(declared.map(({ column }) => column)).size === 1;
  return declared.flatMap(({ column, ...about }) => {
    const keyId = Object.values(about.key).join("/");
    const values = valuesOf(frame, groups.get(keyId) ?? [], column, heads);
    const covered = values.reduce((sum, value) => sum + Number(!Number.isNaN(value)), 0);
    if (covered < COVERED * heads.total) return [];
    const share = isShare(about.unit);
    const format = share ? (/** @type {number} */ value) => percent(value, 1) : numberFormat(values);
    const id = [table, keyId, column === "value" || single ? "" : column].filter(Boolean).join("/");
    return [{ ...about, id, group: table, values, format, share }];
  });
}

/** The numbers of the rows that share their keys. @param {Frame} frame @param {string[]} keys */
function rowsByKey(frame, keys) {
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (let row = 0; row < frame.length; row += 1) {
    const id = keys.map((name) => frame.get(name)[row]).join("/");
    const rows = groups.get(id);
    if (rows) rows.push(row);
    else groups.set(id, [row]);
  }
  return groups;
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

/** Whether values in a unit are shares, which are written in per cent. @param {string} unit */
export function isShare(unit) {
  return IN_PERCENT.has(unit);
}

/** The measure to begin with: the main one of the first table. @param {Measure[]} measures */
export function firstMeasure(measures) {
  return measures.find(({ main }) => main) ?? measures[0];
}

/**
 * The measures that place heads on the map if no distances were measured, across and up: the first one, and one in
 * another unit.
 * @param {Measure[]} measures
 */
export function mapAxes(measures) {
  const first = firstMeasure(measures);
  const other = measures.find(({ main, unit }) => main && unit !== first.unit);
  return other ? [other, first] : [measures[0], measures[1] ?? measures[0]];
}

/** The measures that the overview draws layer by layer. @param {Measure[]} measures */
export function panelsOf(measures) {
  return measures.filter((measure) => measure.panel && canDiffer(measure));
}

/**
 * Whether some head has a value other than 0; if one is given, whether it has any. In a causal model no head attends to
 * the next token.
 * @param {Measure} measure @param {number} [index]
 */
export function canDiffer({ values }, index) {
  return (index === undefined || !Number.isNaN(values[index])) && values.some((value) => value < 0 || value > 0);
}

/** A name from the code as words. @param {string} name */
export function spaced(name) {
  return name.replaceAll("_", " ");
}

/** With a capital letter at its start, unless it starts with a p-value. @param {string} text */
export function capitalised(text) {
  return /^p [<=]/.test(text) ? text : text.slice(0, 1).toUpperCase() + text.slice(1);
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
