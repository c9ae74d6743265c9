/** One number for every head, taken from any table that has a row for most heads: what grid, map and card show. */

import { numberFormat, percent } from "./frames.js";

/**
 * @typedef {{id: string, label: string, group: string, values: Float64Array, format: (value: number) => string,
 *            share: boolean}} Measure
 */

const NEVER = new Set(["layer", "head", "count", "correct", "low", "high", "x", "y", "cluster", "uniform_nats"]);
const NOT_ALONE = {
  keyphrase_heads: new Set(["relative_low", "relative_high", "first_half", "second_half", "key_share"]),
};
const KEY_WORDS = {
  average_precision: "average precision",
  relative_attention: "relative attention",
  cross_entropy: "surprise (nats)",
};
const COVERED = 0.5; // share of the heads that must have a value
const DIRECTIONS = { dependent_to_head: "dependent → head", head_to_dependent: "head → dependent" };

/** All measures of the tables, in their order. @returns {Measure[]} */
export function measuresOf(frames, heads, special) {
  const found = [];
  for (const [table, frame] of frames) {
    if (frame.has("layer", "head")) found.push(...ofTable(table, frame, heads, special));
  }
  return found;
}

function ofTable(table, frame, heads, special) {
  const keys = frame.columns.filter((column) => !column.number || column.name === "offset").map((one) => one.name);
  const numbers = frame.columns.filter(
    (column) =>
      column.number && !NEVER.has(column.name) && !NOT_ALONE[table]?.has(column.name) && column.name !== "offset",
  );
  const groups = new Map();
  for (let row = 0; row < frame.length; row += 1) {
    const key = keys.map((name) => frame.get(name)[row]).join("/");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  const found = [];
  for (const [key, rows] of groups) {
    for (const { name } of numbers) {
      const values = valuesOf(frame, rows, name, heads);
      const said = values.reduce((sum, value) => sum + !Number.isNaN(value), 0);
      if (said < COVERED * heads.total) continue;
      const one = Object.fromEntries(keys.map((column) => [column, frame.get(column)[rows[0]]]));
      const share = isShare(table, name);
      const format = share ? (value) => percent(value, 1) : numberFormat(values);
      const id = [table, key, name === "value" || numbers.length === 1 ? "" : name].filter(Boolean).join("/");
      found.push({ id, label: measureLabel(table, one, name, special), group: table, values, format, share, key: one });
    }
  }
  return found;
}

function valuesOf(frame, rows, name, heads) {
  const values = new Float64Array(heads.total).fill(NaN);
  const [layers, numbers, column] = [frame.get("layer"), frame.get("head"), frame.get(name)];
  for (const row of rows) {
    const index = heads.index(layers[row], numbers[row]);
    if (index >= 0 && column[row] !== null) values[index] = column[row];
  }
  return values;
}

export function isShare(table, name) {
  return name === "accuracy" || (name === "value" && ["positions", "token_kinds", "max_attention"].includes(table));
}

/** What a measure is called: in words where its table is known, else by its names. */
export function measureLabel(table, key, name, special) {
  const sep = special.sep ?? "[SEP]";
  const cls = special.cls ?? "[CLS]";
  const kinds = { sep, cls, period_comma: "periods and commas", other: "other tokens" };
  kinds.sep_to_sep = `${sep}, from ${sep}`;
  kinds.other_to_sep = `${sep}, from other tokens`;
  const known = {
    positions: () => `attention to the ${{ "-1": "previous", 0: "current", 1: "next" }[key.offset]} token`,
    token_kinds: () => `attention to ${kinds[key.kind] ?? key.kind}`,
    entropy: () => (key.source === "cls" ? `entropy from ${cls} (nats)` : "entropy (nats)"),
    max_attention: () => (name === "highest" ? "largest weight anywhere" : "largest weight of a row, mean"),
    gradients: () => `|dL/da| towards ${kinds[key.kind] ?? key.kind}`,
    dependencies: () => `${key.relation}, ${DIRECTIONS[key.direction] ?? key.direction}`,
    keyphrase_heads: () =>
      `key words: ${KEY_WORDS[name]}${key.pooling === "mean" && key.rows === "all" ? "" : `, ${key.pooling} of ${key.rows} rows`}`,
    coreference: () => `antecedent: ${key.mention_type} among ${key.candidates}`,
  };
  if (known[table]) return known[table]();
  const words = Object.values(key).join(", ");
  return [table.replaceAll("_", " "), words, name === "value" ? "" : name].filter(Boolean).join(": ");
}

/** Smallest and largest value that exist; shares start at 0. A measure that shares its scale with others has `limits`. */
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

/** How many heads have a larger value, plus one; and how many have a value. */
export function rank(measure, index) {
  const own = measure.values[index];
  let [above, all] = [0, 0];
  for (const value of measure.values) {
    if (Number.isNaN(value)) continue;
    all += 1;
    if (value > own) above += 1;
  }
  return { rank: above + 1, of: all };
}

/** The head with the largest value. */
export function strongest(measure) {
  let best = 0;
  measure.values.forEach((value, index) => {
    if (value > measure.values[best] || Number.isNaN(measure.values[best])) best = index;
  });
  return best;
}
