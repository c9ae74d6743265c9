/** What can be chosen from: measures by table, examples by corpus. */

const CORPORA = {
  text: "Text",
  treebank: "Treebank, with gold trees",
  coreference: "Coreference, with gold mentions",
  keyphrases: "Documents, with keyphrases",
};
const LONGEST = 58; // letters of an example in a list

export function measureGroups(atlas) {
  const groups = new Map();
  for (const { group, id, label } of atlas.measures) {
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push([id, label]);
  }
  return [...groups].map(([group, list]) => [group.replaceAll("_", " "), list]);
}

export function exampleGroups(atlas) {
  const groups = new Map();
  atlas.examples.forEach((example, number) => {
    const words = (example.words.length ? example.words : example.tokens).join(" ");
    const text = Array.from(words);
    const shown = text.length > LONGEST ? text.slice(0, LONGEST - 1).join("") + "…" : words;
    const group = CORPORA[example.corpus] ?? example.corpus;
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push([String(number), `${number + 1}. ${shown}`]);
  });
  return [...groups];
}
