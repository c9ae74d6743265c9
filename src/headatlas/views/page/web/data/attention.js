/** One head's weights on one example: between tokens or between words, and what it gets right of the gold. */

export const NONE = 255; // in packed predictions: no word is predicted
export const LEVELS = 255;

/** Weights between tokens, row by row. @param {Uint8Array} maps heads x n x n */
export function tokenMap(maps, head, length) {
  const size = length * length;
  return Float64Array.from(maps.subarray(head * size, (head + 1) * size), (level) => level / LEVELS);
}

/**
 * Words in the order of the text, each special token as one of its own; a word that the model saw as the unknown token
 * stands after that token's name.
 * @returns {{units: {text: string, word: number, tokens: number[]}[], unitOf: number[]}} word is -1 for special tokens
 */
export function wordUnits(example, unknown) {
  const units = [];
  const byWord = new Map();
  const unitOf = example.word_of.map((word, token) => {
    if (word < 0 || !byWord.has(word)) {
      units.push({ text: word < 0 ? example.tokens[token] : example.words[word], word, tokens: [] });
      if (word >= 0) byWord.set(word, units.length - 1);
    }
    const unit = word < 0 ? units.length - 1 : byWord.get(word);
    units[unit].tokens.push(token);
    return unit;
  });
  for (const unit of units) {
    const unseen = unit.word >= 0 && unit.tokens.some((token) => example.tokens[token] === unknown);
    if (unseen && !unit.text.includes(unknown)) unit.text = `${unknown} ${unit.text}`;
  }
  return { units, unitOf };
}

/** The same shape for tokens as they are. */
export function tokenUnits(example) {
  const units = example.tokens.map((text, token) => ({ text, word: example.word_of[token], tokens: [token] }));
  return { units, unitOf: units.map((_, place) => place) };
}

/** Attention to a unit is the sum over its tokens, from it their mean, the first's, or the largest scaled to sum 1. */
export function unitMap(weights, length, { units, unitOf }, how) {
  const size = units.length;
  const map = new Float64Array(size * size);
  units.forEach(({ tokens }, from) => {
    const sources = how === "first" ? tokens.slice(0, 1) : tokens;
    const row = map.subarray(from * size, (from + 1) * size);
    for (const token of sources) {
      const to = new Float64Array(size);
      for (let other = 0; other < length; other += 1) to[unitOf[other]] += weights[token * length + other];
      for (let unit = 0; unit < size; unit += 1) {
        if (how === "max") row[unit] = Math.max(row[unit], to[unit]);
        else row[unit] += to[unit] / sources.length;
      }
    }
    if (how === "max") {
      const sum = row.reduce((total, weight) => total + weight, 0);
      if (sum > 0) for (let unit = 0; unit < size; unit += 1) row[unit] /= sum;
    }
  });
  return map;
}

/**
 * What the head predicts about the gold tree: a verdict for every word that has a head.
 * @returns {{word: number, head: number, relation: string, predicted: number, right: boolean}[]}
 */
export function treeVerdicts(tree, predictions, head, direction) {
  const size = tree.heads.length;
  const start = (2 * head + (direction === "head_to_dependent" ? 1 : 0)) * size;
  const verdicts = [];
  tree.heads.forEach((gold, word) => {
    if (gold < 0) return;
    const said = predictions[start + tree.counts_as[word]];
    verdicts.push({
      word,
      head: gold,
      relation: tree.relations[word],
      predicted: said === NONE ? -1 : said,
      right: said === gold,
    });
  });
  return verdicts;
}

/** What the head predicts about mentions that have an antecedent. */
export function mentionVerdicts(mentions, antecedents, predictions, head) {
  const verdicts = [];
  antecedents.forEach((before, number) => {
    if (!before.length) return;
    const said = predictions[head * mentions.length + number];
    verdicts.push({
      mention: number,
      word: mentions[number].head,
      gold: before.map((other) => mentions[other].head),
      predicted: said === NONE ? -1 : said,
      right: before.some((other) => mentions[other].head === said),
    });
  });
  return verdicts;
}
