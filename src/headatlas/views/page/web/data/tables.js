/**
 * What the page knows of tables by name: labels, units, and where their measures are shown. All other code treats
 * tables alike.
 */

export const DIRECTIONS = { dependent_to_head: "dependent → head", head_to_dependent: "head → dependent" };
const OFFSETS = /** @type {Row} */ ({ "-1": "previous", 0: "current", 1: "next" });
const KEY_WORDS = /** @type {Row} */ ({
  average_precision: "average precision",
  relative_attention: "relative attention",
  cross_entropy: "cross-entropy (nats)",
});

/** Measures to begin with, the first that an atlas has. */
export const FIRST_MEASURES = ["positions/-1", "keyphrase_heads/mean/all/average_precision"];
/** Measures that place heads on the map if no distances were measured: across and up. */
export const MAP_AXES = ["entropy/all", "positions/-1"];
/** Measures that the overview draws layer by layer. */
export const PANELS = [
  "token_kinds/cls",
  "token_kinds/sep",
  "token_kinds/period_comma",
  "positions/-1",
  "positions/1",
  "entropy/all",
  "gradients/sep",
  "gradients/other",
];

const KEYS = new Set(["offset"]); // numbers that name a row, as words do
const NO_MEASURE = new Set(["layer", "head", "count", "correct", "low", "high", "x", "y", "cluster", "uniform_nats"]);
const NO_MEASURE_IN = /** @type {Record<string, Set<string>>} */ ({
  keyphrase_heads: new Set(["relative_low", "relative_high", "first_half", "second_half", "key_share"]),
});
const SHARES = new Set(["positions", "token_kinds", "max_attention"]); // tables of which `value` is a share

/** Where the card of a head shows the measures of a table; elsewhere than in a list of measures if null. */
const PLACES = /** @type {Record<string, string|null>} */ ({
  positions: "attention",
  token_kinds: "attention",
  entropy: "attention",
  max_attention: "attention",
  gradients: "loss",
  keyphrase_heads: "key words",
  dependencies: null,
  coreference: null,
  behaviours: null,
});
const NOT_ON_THE_CARD = new Set([
  "token_kinds/sep_to_sep",
  "token_kinds/other_to_sep",
  "entropy/cls",
  "max_attention/highest",
]);

/** Whether a column names what a row is about. @param {Column} column */
export function isKey({ name, number }) {
  return !number || KEYS.has(name);
}

/** Whether a column of a table is a measure of heads. @param {string} table @param {Column} column */
export function isMeasure(table, column) {
  return !isKey(column) && !NO_MEASURE.has(column.name) && !NO_MEASURE_IN[table]?.has(column.name);
}

/** Whether a column holds shares, which are written in per cent. @param {string} table @param {string} column */
export function isShare(table, column) {
  return column === "accuracy" || (column === "value" && SHARES.has(table));
}

/** The part of the card on which a measure is listed: attention, loss, key words or more. @param {Measure} measure */
export function placeOnCard({ group, id, key }) {
  if (NOT_ON_THE_CARD.has(id)) return null;
  if (group === "keyphrase_heads" && !isUsualPooling(key)) return null;
  return group in PLACES ? PLACES[group] : "more";
}

/**
 * Whether a measure says how well heads find a relation that has a best head, or an antecedent.
 * @param {Measure} measure @param {Map<string, BestHead>} best
 */
export function isRelation({ group, key }, best) {
  return group === "coreference" || (group === "dependencies" && best.has(key.relation));
}

/**
 * What a measure is called: in words if its table is known, otherwise by the names in the table.
 * @param {string} table @param {Row} key @param {string} column @param {Special} special
 */
export function measureLabel(table, key, column, special) {
  const sep = special.sep ?? "[SEP]";
  const cls = special.cls ?? "[CLS]";
  const kinds = /** @type {Row} */ ({
    sep,
    cls,
    period_comma: "periods and commas",
    other: "other tokens",
    sep_to_sep: `${sep}, from ${sep}`,
    other_to_sep: `${sep}, from other tokens`,
  });
  const direction = () => DIRECTIONS[/** @type {keyof DIRECTIONS} */ (key.direction)] ?? key.direction;
  const pooling = () => (isUsualPooling(key) ? "" : `, ${key.pooling} of ${key.rows} rows`);
  const known = /** @type {Record<string, () => string>} */ ({
    positions: () => `attention to the ${OFFSETS[key.offset]} token`,
    token_kinds: () => `attention to ${kinds[key.kind] ?? key.kind}`,
    entropy: () => (key.source === "cls" ? `entropy from ${cls} (nats)` : "entropy (nats)"),
    max_attention: () => (column === "highest" ? "largest weight anywhere" : "largest weight per row, mean"),
    gradients: () => `|dL/da| towards ${kinds[key.kind] ?? key.kind}`,
    dependencies: () => `${key.relation}, ${direction()}`,
    keyphrase_heads: () => `key words: ${KEY_WORDS[column]}${pooling()}`,
    coreference: () => `antecedent: ${key.mention_type} among ${key.candidates}`,
  });
  if (Object.hasOwn(known, table)) return known[table]();
  const words = Object.values(key).join(", ");
  return [spaced(table), words, column === "value" ? "" : column].filter(Boolean).join(": ");
}

/** A label for a narrow list under a heading that says the rest. @param {Measure} measure */
export function shortLabel({ label, group, key }) {
  if (group === "dependencies") return `${key.relation} ${arrow(key.direction)}`;
  return label
    .replace(/^(attention to (the )?|antecedent: |\|dL\/da\| towards )/, "")
    .replace("per row, mean", "per row");
}

/** Who attends: → the dependent to its head, ← the head to its dependent. @param {string} direction */
export function arrow(direction) {
  return direction === "dependent_to_head" ? "→" : "←";
}

/** A name from the code as words. @param {string} name */
export function spaced(name) {
  return name.replaceAll("_", " ");
}

/** @param {Row} key */
function isUsualPooling({ pooling, rows }) {
  return pooling === "mean" && rows === "all";
}
