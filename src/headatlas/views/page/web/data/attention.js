/** One head's weights on one example: between tokens or words, received by them, and what it gets right of the gold. */

const NONE = 255; // in packed predictions: no word is predicted
const LEVELS = 255;

/**
 * Weights between tokens, row by row.
 * @param {Uint8Array} maps heads x n x n @param {number} head @param {number} length
 */
export function tokenMap(maps, head, length) {
  const size = length * length;
  return Float64Array.from(maps.subarray(head * size, (head + 1) * size), (level) => level / LEVELS);
}

/**
 * An example in words or in tokens.
 * @param {Text} example @param {string} unit @param {string|undefined} unknown the unknown token
 * @returns {Division}
 */
export function divide(example, unit, unknown) {
  return unit === "words" ? wordUnits(example, unknown) : tokenUnits(example);
}

/**
 * Words in the order of the text, each special token as a unit of its own. A word that the model saw as the unknown
 * token follows that token's name.
 * @param {Text} example @param {string|null|undefined} unknown @returns {Division}
 */
export function wordUnits(example, unknown) {
  /** @type {Unit[]} */
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
  for (const unit of unknown ? units : []) {
    const unseen = unit.word >= 0 && unit.tokens.some((token) => example.tokens[token] === unknown);
    if (unseen && !unit.text.includes(String(unknown))) unit.text = `${unknown} ${unit.text}`;
  }
  return { units, unitOf };
}

/** @param {Text} example @returns {Division} */
function tokenUnits(example) {
  const units = example.tokens.map((text, token) => ({ text, word: example.word_of[token], tokens: [token] }));
  return { units, unitOf: units.map((_, place) => place) };
}

/**
 * Attention between units. Attention to a unit is the sum over its tokens; attention from it is the mean over its
 * tokens, that of the first, or the largest, scaled to sum to 1.
 * @param {Float64Array} weights @param {number} length @param {Division} division @param {string} how
 */
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
 * Attention that units receive: the mean or the largest weight of their columns. A split word receives the sum over
 * its tokens, or the largest of them.
 * @param {Float64Array} weights between tokens, row by row
 * @param {number} length @param {Division} division @param {string} pooling "mean" or "max"
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

/**
 * What the head predicts about the gold tree: a verdict for every word that has a head.
 * @param {Tree} tree @param {Uint8Array} predictions @param {number} head @param {string} direction
 * @returns {TreeVerdict[]}
 */
export function treeVerdicts(tree, predictions, head, direction) {
  const size = tree.heads.length;
  const start = (2 * head + (direction === "head_to_dependent" ? 1 : 0)) * size;
  return tree.heads.flatMap((gold, word) => {
    if (gold < 0) return [];
    const said = predictions[start + tree.counts_as[word]];
    const predicted = said === NONE ? -1 : said;
    return [{ word, head: gold, relation: tree.relations[word], predicted, right: said === gold }];
  });
}

/**
 * What the head predicts about mentions that have an antecedent.
 * @param {Mention[]} mentions @param {number[][]} antecedents @param {Uint8Array} predictions @param {number} head
 * @returns {MentionVerdict[]}
 */
export function mentionVerdicts(mentions, antecedents, predictions, head) {
  return antecedents.flatMap((before, mention) => {
    if (!before.length) return [];
    const said = predictions[head * mentions.length + mention];
    const gold = before.map((other) => mentions[other].head);
    const predicted = said === NONE ? -1 : said;
    return [{ mention, word: mentions[mention].head, gold, predicted, right: gold.includes(said) }];
  });
}

/**
 * The pairs that a head is known for, by place of the word that attends times the number of units plus that of the
 * other: gold pairs of its relations, antecedents, or neighbours.
 * @param {PackedExample|Example} example @param {Unit[]} units
 * @param {import("./roles.js").HeadRole} head @param {Map<string, BestHead>} best
 * @returns {Map<number, string>}
 */
export function fittingPairs({ tree, mentions, antecedents }, units, { labels }, best) {
  /** @type {Map<number, string>} */
  const fits = new Map();
  const placeOf = new Map(units.map(({ word }, place) => [word, place]));
  /** @param {number|undefined} from @param {number|undefined} to @param {string} why */
  const add = (from, to, why) => {
    if (from !== undefined && to !== undefined && from !== to) fits.set(from * units.length + to, why);
  };
  const names = labels.map(({ label }) => label);
  tree?.heads.forEach((head, word) => {
    const relation = tree.relations[word];
    if (head < 0 || !names.includes(relation)) return;
    const [dependent, governor] = [placeOf.get(tree.counts_as[word]), placeOf.get(head)];
    const reversed = best.get(relation)?.direction === "head_to_dependent";
    add(reversed ? governor : dependent, reversed ? dependent : governor, relation);
  });
  if (names.includes("coreference")) {
    antecedents?.forEach((before, mention) => {
      for (const other of before) {
        add(placeOf.get(mentions?.[mention].head ?? -1), placeOf.get(mentions?.[other].head ?? -1), "antecedent");
      }
    });
  }
  for (const [name, step] of /** @type {[string, number][]} */ ([
    ["previous token", -1],
    ["next token", 1],
  ])) {
    if (!names.includes(name)) continue;
    units.forEach((_, place) => units[place + step] && add(place, place + step, name));
  }
  return fits;
}
