/** Attention that words or tokens receive: the mean or the largest weight of their columns. */

/**
 * @param {Float64Array} weights between tokens, row by row
 * @param {{units: {tokens: number[]}[]}} division into words or tokens
 * @param {"mean"|"max"} pooling a split word receives what its tokens do together, or the largest of them
 */
export function received(weights, length, { units }, pooling) {
  return units.map(({ tokens }) => {
    const columns = tokens.map((token) => {
      let [sum, most] = [0, 0];
      for (let row = 0; row < length; row += 1) {
        const weight = weights[row * length + token];
        sum += weight;
        most = Math.max(most, weight);
      }
      return pooling === "max" ? most : sum / length;
    });
    return pooling === "max" ? Math.max(...columns) : columns.reduce((total, value) => total + value, 0);
  });
}
