/** Attention without the sink: most heads rest on the first token or on special tokens when they have nothing to do. */

export const LEAST_LEFT = 0.02; // of a row, below which what is left is mostly rounding

/**
 * Whether a unit counts as the sink: a special token, or whatever the first token belongs to.
 * @param {Pick<Unit, "word" | "tokens">} unit
 */
export function isSink({ word, tokens }) {
  return word < 0 || tokens.includes(0);
}

/**
 * The map without rows and columns of the sink, the rest of each row scaled to what the whole row was.
 * @param {Float64Array} map between units, row by row @param {Unit[]} units
 * @returns {{map: Float64Array, share: number, empty: Set<number>}} `share` of the attention that went to the sink, on
 *   average over the other units; `empty` are rows with less than LEAST_LEFT besides, which are set to 0
 */
export function withoutSink(map, units) {
  const size = units.length;
  const sink = units.map(isSink);
  const rescaled = new Float64Array(size * size);
  const empty = new Set();
  let [share, rows] = [0, 0];
  for (let from = 0; from < size; from += 1) {
    if (sink[from]) continue;
    const row = map.subarray(from * size, (from + 1) * size);
    let [total, left] = [0, 0];
    row.forEach((weight, to) => {
      total += weight;
      if (!sink[to]) left += weight;
    });
    rows += 1;
    share += total > 0 ? 1 - left / total : 0;
    if (left < LEAST_LEFT * total || left === 0) {
      empty.add(from);
      continue;
    }
    row.forEach((weight, to) => {
      if (!sink[to]) rescaled[from * size + to] = (weight * total) / left;
    });
  }
  return { map: rescaled, share: rows ? share / rows : 0, empty };
}

/**
 * The head that rests least on a text: the smallest share of its attention goes to the sink.
 * @param {Example} example @param {number} heads
 */
export function leastResting({ tokens, maps, word_of: wordOf }, heads) {
  const { length } = tokens;
  const sink = wordOf.map((word, token) => isSink({ word, tokens: [token] }));
  let [best, least] = [0, Infinity];
  for (let head = 0; head < heads; head += 1) {
    let resting = 0;
    for (let from = 1; from < length; from += 1) {
      for (let to = 0; to < length; to += 1) {
        if (sink[to]) resting += maps[(head * length + from) * length + to];
      }
    }
    if (resting < least) [best, least] = [head, resting];
  }
  return best;
}
