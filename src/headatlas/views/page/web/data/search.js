/** Finding a head, a relation, a pattern, a table or an example by a few letters. */

import { spaced } from "./measures.js";
import { exampleText } from "./options.js";

/**
 * @typedef {{label: string, note: string, words: string, rank: number, go: Change}} Entry
 *   `go` is the change of what is shown that an entry stands for
 */

/**
 * Everything that can be found.
 * @param {{heads: Heads, measures: Measure[], behaviours: Behaviour[], best: Map<string, BestHead>,
 *          tables: [name: string, about: string][], examples: PackedExample[], strongest: (measure: Measure) => number,
 *          views: {measure: string, behaviour: string}}} source
 */
export function searchEntries({ heads, measures, behaviours, best, tables, examples, strongest, views }) {
  /** @type {Entry[]} */
  const entries = [];
  /** @param {string} label @param {string} note @param {string} words @param {number} rank @param {Change} go */
  const add = (label, note, words, rank, go) =>
    entries.push({ label, note, words: `${label} ${words}`.toLowerCase(), rank, go });
  for (const [relation, { layer, head, said, measure }] of best) {
    const go = { view: views.measure, head: heads.index(layer, head), measure };
    add(relation, `best head ${layer}-${head}, ${said}`, `relation ${relation}`, 1, go);
  }
  for (const { label, heads: labelled } of behaviours) {
    const [first, ...others] = labelled.map((index) => heads.name(index));
    const note = others.length ? `${first} and ${others.length} more` : first;
    add(label, note, `behaviour ${label}`, 1, { view: views.behaviour, head: labelled[0] });
  }
  for (const measure of measures) {
    const head = strongest(measure);
    const note = `highest: ${heads.name(head)}, ${measure.format(measure.values[head])}`;
    const go = { view: views.measure, measure: measure.id, head };
    add(measure.label, note, `${measure.label} ${measure.group} ${measure.id}`, 2, go);
  }
  for (const [name, about] of tables) {
    add(spaced(name), about || "table", `table ${name}`, 3, { view: "tables", table: name });
  }
  examples.forEach((example, number) => {
    const go = { view: "sentence", example: number };
    add(exampleText(example), `example ${number + 1}, ${example.corpus}`, "", 4, go);
  });
  return entries;
}

/**
 * The entries that contain every word of the query, best first, after the heads that it names.
 * @param {Entry[]} entries @param {(query: string) => {label: string, go: Change}[]} named @param {string} query
 * @returns {Entry[]}
 */
export function find(entries, named, query, most = 12) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const heads = named(query).map((head) => ({ note: "", words: "", rank: 0, ...head }));
  const whole = words.join(" ");
  /** @type {[number, Entry][]} */
  const scored = [];
  for (const entry of entries) {
    if (!words.every((word) => entry.words.includes(word))) continue;
    const label = entry.label.toLowerCase();
    const fit = label === whole ? 0 : label.startsWith(whole) ? 1 : label.includes(whole) ? 2 : 3;
    scored.push([10 * fit + entry.rank, entry]);
  }
  scored.sort((a, b) => a[0] - b[0] || a[1].label.length - b[1].label.length);
  return [...heads, ...scored.map(([, entry]) => entry)].slice(0, most);
}
