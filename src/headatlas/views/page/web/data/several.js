/** Several heads at once: those chosen one by one, or all of a layer. */

/** @type {Choice[]} */
export const SEVERAL = [
  ["one", "One head"],
  ["several", "Several heads"],
  ["layer", "Whole layer"],
];

/** The heads that are shown together, in order. @param {Heads} heads @param {Shown} shown @returns {number[]} */
export function headsShown(heads, { several, chosen, head }) {
  if (several === "layer") return layerOf(heads, head);
  if (several === "several") return [...new Set([...chosen, head])].sort((a, b) => a - b);
  return [head];
}

/** All heads of a head's layer. @param {Heads} heads @param {number} head @returns {number[]} */
export function layerOf(heads, head) {
  const { layer } = heads.at(head);
  return Array.from({ length: heads.perLayer[layer - 1] }, (_, place) => heads.index(layer, place + 1));
}

/**
 * Heads in groups that share their keys and values; each alone if none are shared.
 * @param {number[]} list heads of one layer, in order @param {number} size how many share
 */
export function keyGroups(list, size) {
  /** @type {number[][]} */
  const groups = [];
  for (let start = 0; start < list.length; start += size) groups.push(list.slice(start, start + size));
  return groups;
}
