/** What a survey of layers found, as rows: mixes, their summary, the order of tasks, targets that move. */

/** @param {Atlas} atlas */
export function layerTables({ frames }) {
  /** @param {string} name */
  const rows = (name) => frames.get(name)?.records() ?? [];
  return {
    mix: rows("layer_mix"),
    summary: rows("layer_summary"),
    order: rows("layer_order"),
    examples: rows("layer_examples"),
  };
}

/** Differential scores as shares of all gains; zeros if nothing is gained. @param {(number|null)[]} gains */
export function gainShares(gains) {
  const total = gains.reduce((/** @type {number} */ sum, gain) => sum + Math.max(0, gain ?? 0), 0);
  return gains.map((gain) => (total > 0 ? (gain ?? 0) / total : 0));
}

/**
 * Where task `first` lies, seen from `second`: below or above it, not settled, or not compared.
 * @param {Row[]} order @param {string} first @param {string} second
 */
export function placeBeside(order, first, second) {
  const ends = [first, second];
  const row = order.find(({ below, above }) => ends.includes(below) && ends.includes(above));
  if (!row || row.withheld) return { text: "not compared", title: row?.withheld ?? "" };
  const number = (/** @type {number | null} */ value) => (value === null ? "" : value.toFixed(2));
  const title = `${number(row.difference)} (${number(row.low)} to ${number(row.high)}), p ${row.p_holm?.toFixed(3)}`;
  if (!row.settled) return { text: "not settled", title };
  return { text: row.below === first ? "below" : "above", title };
}
