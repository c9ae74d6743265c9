/** How much every head matters for a prediction, asked of the server some layers at a time. */

import { ask } from "./asking.js";

const TOGETHER = 48; // heads asked for at once

/**
 * @typedef {{targets: string[], before: number, after: Float64Array, kl: Float64Array, known: number}} HeadEffects
 *   mean log probabilities of the targets, before and without each head; NaN where a head is yet to be tried
 */

/**
 * Ask for the effects of all heads, of the last layers first, because they take the least time.
 * @param {Live} live @param {Heads} heads @param {object} question
 * @param {(effects: HeadEffects) => boolean} see called after each part; false if no more is wanted
 * @param {typeof ask<Effects>} asking
 */
export async function measureEffects(live, heads, question, see, asking = ask) {
  const unknown = () => new Float64Array(heads.total).fill(NaN);
  /** @type {HeadEffects} */
  const found = { targets: [], before: 0, after: unknown(), kl: unknown(), known: 0 };
  for (const [first, last] of layerParts(heads, TOGETHER)) {
    const part = await asking(live, { ...question, layers: [first, last] }, "/api/effects");
    Object.assign(found, { targets: part.targets, before: part.before });
    found.after.set(part.log_probabilities, heads.starts[first - 1]);
    found.kl.set(part.kl, heads.starts[first - 1]);
    found.known += part.kl.length;
    if (!see(found)) return;
  }
}

/**
 * Layers (from 1) in runs of at most `most` heads, but of one layer at least, the last ones first.
 * @param {Heads} heads @param {number} most
 * @returns {[first: number, last: number][]}
 */
export function layerParts({ perLayer }, most) {
  /** @type {[number, number][]} */
  const parts = [];
  let size = Infinity;
  for (let layer = perLayer.length; layer >= 1; layer -= 1) {
    size += perLayer[layer - 1];
    if (size > most) {
      parts.push([layer, layer]);
      size = perLayer[layer - 1];
    } else parts[parts.length - 1][0] = layer;
  }
  return parts;
}

/** The change that each head's absence makes, in nats. @param {HeadEffects} effects @param {number} head */
export function changeOf({ after, before }, head) {
  return after[head] - before;
}

/** Heads by the size of that change, the largest first. @param {HeadEffects} effects @returns {number[]} */
export function ranked(effects) {
  return [...effects.after.keys()]
    .filter((head) => !Number.isNaN(effects.after[head]))
    .sort((a, b) => Math.abs(changeOf(effects, b)) - Math.abs(changeOf(effects, a)));
}
