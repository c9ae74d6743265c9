/** Finding a head, a relation, a pattern, a table or an example by a few letters. */

/** @typedef {{label: string, note: string, words: string, rank: number, go: object}} Entry */

/** What can be found. `go` is the change of what is shown that an entry stands for. */
export function searchEntries({ heads, measures, behaviours, best, tables, examples, strongest, views }) {
  const entries = [];
  for (const [relation, row] of best) {
    const head = heads.index(row.layer, row.head);
    const note = `best head ${row.layer}-${row.head}, ${row.said}`;
    entries.push(entry(relation, note, `relation ${relation}`, 1, { view: views.measure, head, measure: row.measure }));
  }
  for (const behaviour of behaviours) {
    const [first, ...others] = behaviour.heads.map((index) => heads.name(index));
    const note = others.length ? `${first} and ${others.length} more` : first;
    entries.push(
      entry(behaviour.label, note, `behaviour ${behaviour.label}`, 1, {
        view: views.behaviour,
        head: behaviour.heads[0],
      }),
    );
  }
  for (const measure of measures) {
    const head = strongest(measure);
    const note = `most: ${heads.name(head)}, ${measure.format(measure.values[head])}`;
    const words = `${measure.label} ${measure.group} ${measure.id}`;
    entries.push(entry(measure.label, note, words, 2, { view: views.measure, measure: measure.id, head }));
  }
  for (const [name, about] of tables)
    entries.push(entry(name, about || "table", `table ${name}`, 3, { view: "tables", table: name }));
  examples.forEach((example, number) => {
    const text = example.words.length ? example.words.join(" ") : example.tokens.join(" ");
    entries.push(entry(text, `example ${number + 1}, ${example.corpus}`, "", 4, { view: "sentence", example: number }));
  });
  return entries;
}

function entry(label, note, words, rank, go) {
  return { label, note, words: `${label} ${words}`.toLowerCase(), rank, go };
}

/** The entries that hold every word of the query, best first; heads that it names stand before all. */
export function find(entries, named, query, most = 12) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const found = named(query).map((one) => ({ note: "", words: "", rank: 0, ...one }));
  const whole = words.join(" ");
  const scored = [];
  for (const one of entries) {
    if (!words.every((word) => one.words.includes(word))) continue;
    const label = one.label.toLowerCase();
    const fit = label === whole ? 0 : label.startsWith(whole) ? 1 : label.includes(whole) ? 2 : 3;
    scored.push([10 * fit + one.rank, one]);
  }
  scored.sort((a, b) => a[0] - b[0] || a[1].label.length - b[1].label.length);
  return [...found, ...scored.map(([, one]) => one)].slice(0, most);
}
