/** The atlas that the page carries: read once, its bulky parts unpacked when they are first needed. */

import { Frame, percent, unpackColumn } from "./frames.js";
import { Heads } from "./heads.js";
import { measuresOf } from "./measures.js";

/** Bytes out of base64 and zlib, by the browser's own means. @returns {Promise<Uint8Array>} */
export async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export class Atlas {
  constructor(content) {
    this.content = content;
    this.heads = new Heads(content.heads);
    this.examples = content.examples;
    this.unpacked = new Map();
  }

  /** Unpack the tables and find what they say of each head. */
  async open() {
    const named = Object.entries(this.content.tables);
    const frames = await Promise.all(named.map(([, table]) => unpackTable(table)));
    this.frames = new Map(named.map(([name], place) => [name, frames[place]]));
    this.measures = measuresOf(this.frames, this.heads, this.content.special);
    this.measureOf = new Map(this.measures.map((measure) => [measure.id, measure]));
    this.behaviours = behavioursOf(this.frames.get("behaviours"), this.heads);
    this.best = bestOf(this.frames.get("dependency_best"), this.measureOf);
    this.views = { measure: "grid", behaviour: "map" };
    return this;
  }

  /** A change of what is shown, with all that follows from it. */
  complete(parts) {
    return parts;
  }

  /** Heads that a query may mean, with the change that shows them. */
  named(query) {
    const index = this.heads.parse(query.replace(/^\s*head\s+/i, ""));
    return index < 0 ? [] : [{ label: `Head ${this.heads.name(index)}`, go: { head: index } }];
  }

  /** What to change where a head that a column of a table names is chosen; null where it is none. */
  choice(_column, layer, head) {
    const index = this.heads.index(layer, head);
    return index < 0 ? null : { head: index };
  }

  /** An example with its maps and predictions. */
  example(number) {
    if (!this.unpacked.has(number)) this.unpacked.set(number, unpackExample(this.examples[number]));
    return this.unpacked.get(number);
  }
}

async function unpackTable({ columns, packed }) {
  const values = JSON.parse(new TextDecoder().decode(await unpack(packed)));
  return new Frame(columns, values.map(unpackColumn));
}

/** An example with its maps and predictions unpacked. */
export async function unpackExample(example) {
  const [maps, predictions] = await Promise.all([
    unpack(example.maps),
    example.predictions ? unpack(example.predictions) : null,
  ]);
  return { ...example, maps, predictions };
}

/** Labels with their heads, the strongest first; the label of most heads before others. @returns {{label: string, heads: number[]}[]} */
function behavioursOf(frame, heads) {
  if (!frame?.has("layer", "head", "label", "strength")) return [];
  const found = new Map();
  for (const row of frame.sorted(
    frame.where(() => true),
    "strength",
    true,
  )) {
    const index = heads.index(frame.get("layer")[row], frame.get("head")[row]);
    const label = frame.get("label")[row];
    if (index < 0 || label === null) continue;
    if (!found.has(label)) found.set(label, []);
    found.get(label).push(index);
  }
  return [...found].map(([label, list]) => ({ label, heads: list })).sort((a, b) => b.heads.length - a.heads.length);
}

/** The best head of each relation, with the measure that shows all heads at it. */
function bestOf(frame, measureOf) {
  const best = new Map();
  if (!frame) return best;
  for (const row of frame.where(() => true)) {
    const relation = frame.get("relation")[row];
    const direction = frame.get("direction")[row];
    const measure = `dependencies/${relation}/${direction}`;
    best.set(relation, {
      direction,
      layer: frame.get("layer")[row],
      head: frame.get("head")[row],
      said: percent(frame.get("held_out")[row] ?? frame.get("accuracy")[row]),
      measure: measureOf.has(measure) ? measure : undefined,
    });
  }
  return best;
}
