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
 * The share in which task `first` lies below `second`; null if they were not compared.
 * @param {Row[]} order @param {string} first @param {string} second
 */
export function shareBelow(order, first, second) {
  const forward = order.find(({ below, above }) => below === first && above === second);
  if (forward) return forward.share;
  const backward = order.find(({ below, above }) => below === second && above === first);
  return backward && backward.share !== null ? 1 - backward.share : null;
}
