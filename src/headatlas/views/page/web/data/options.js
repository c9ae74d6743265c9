/** What can be chosen from: measures by table, examples by corpus. */

import { capitalised, spaced } from "./measures.js";

const LONGEST = 58; // letters of an example in a list
/** @type {Choice[]} */
export const UNITS = [
  ["words", "Words"],
  ["tokens", "Tokens"],
];

/** @param {Atlas} atlas */
export function measureGroups({ measures }) {
  return grouped(measures.map(({ group, id, label }) => [spaced(group), [id, label]]));
}

/** @param {Atlas} atlas */
export function exampleGroups({ examples }) {
  return grouped(
    examples.map((example, number) => {
      const letters = Array.from(exampleText(example));
      const text = letters.length > LONGEST ? letters.slice(0, LONGEST - 1).join("") + "…" : letters.join("");
      return [corpusTitle(example), [String(number), `${number + 1}. ${text}`]];
    }),
  );
}

/** @param {PackedExample} example */
function corpusTitle({ corpus, tree, mentions, key }) {
  const gold = (tree && "gold trees") || (mentions && "gold mentions") || (key && "marked words");
  return capitalised(corpus) + (gold ? `, with ${gold}` : "");
}

/** @param {Text} example */
export function exampleText({ words, tokens }) {
  return (words.length ? words : tokens).join(" ");
}

/** @param {[group: string, choice: Choice][]} choices @returns {Groups} */
function grouped(choices) {
  /** @type {Map<string, Choice[]>} */
  const groups = new Map();
  for (const [group, choice] of choices) groups.set(group, [...(groups.get(group) ?? []), choice]);
  return [...groups];
}
