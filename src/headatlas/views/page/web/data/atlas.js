/** The atlas that the page carries: read once, its large parts unpacked when they are first needed. */

import { Frame, unpackColumn } from "./frames.js";
import { behavioursOf, bestHeads } from "./head-facts.js";
import { Heads } from "./heads.js";
import { measuresOf } from "./measures.js";
import { headRoles } from "./roles.js";

/** Decode base64 and zlib with the browser's own means. @param {string} text */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export class Atlas {
  /** The two atlases of a comparison. @type {Atlas[]|undefined} */
  sides = undefined;
  /** What views colour heads by at first, if not by a measure. @type {string|undefined} */
  colour = undefined;
  /** Whether a survey looked for labels, so that a head without one has none. */
  labelled = false;
  /** The views that show a measure and a behaviour. */
  views = { measure: "grid", behaviour: "map" };

  /** @param {Content} content */
  constructor(content) {
    this.content = content;
    this.heads = new Heads(content.heads);
    this.examples = content.examples;
    /** @type {Map<number, Promise<Example>>} */
    this.unpacked = new Map();
    /** @type {Map<string, Frame>} */
    this.frames = new Map();
    /** @type {Measure[]} */
    this.measures = [];
    /** @type {Map<string, Measure>} */
    this.measureOf = new Map();
    /** @type {Behaviour[]} */
    this.behaviours = [];
    /** @type {Map<string, BestHead>} */
    this.best = new Map();
    /** @type {import("./roles.js").HeadRole[]} */
    this.roles = [];
  }

  /** Unpack the tables and collect what they say of each head. @returns {Promise<this>} */
  async open() {
    const named = Object.entries(this.content.tables);
    const frames = await Promise.all(named.map(([, table]) => unpackTable(table)));
    this.frames = new Map(named.map(([name], place) => [name, frames[place]]));
    this.measures = measuresOf(this.frames, this.content.tables, this.heads);
    this.measureOf = new Map(this.measures.map((measure) => [measure.id, measure]));
    this.behaviours = behavioursOf(this.frames, this.heads);
    this.best = bestHeads(this.frames, this.measureOf);
    this.roles = headRoles(this);
    this.labelled = !this.sides && this.frames.has("behaviours");
    return this;
  }

  /** A change of what is shown, with everything that follows from it. @param {Change} parts @returns {Change} */
  complete(parts) {
    return parts;
  }

  /**
   * The heads that a query may mean, with the change that shows them.
   * @param {string} query
   * @returns {{label: string, go: Change}[]}
   */
  named(query) {
    const index = this.heads.parse(query.replace(/^\s*head\s+/i, ""));
    return index < 0 ? [] : [{ label: `Head ${this.heads.name(index)}`, go: { head: index } }];
  }

  /**
   * What changes if the head in a column of a table is chosen; null if it does not exist.
   * @param {string} _column @param {number} layer @param {number} head
   * @returns {Change|null}
   */
  choice(_column, layer, head) {
    const index = this.heads.index(layer, head);
    return index < 0 ? null : { head: index };
  }

  /** An example with its maps and predictions. @param {number} number @returns {Promise<Example>} */
  example(number) {
    const example = this.unpacked.get(number) ?? unpackExample(this.examples[number]);
    this.unpacked.set(number, example);
    return example;
  }
}

/** @param {PackedTable} table */
async function unpackTable({ columns, packed }) {
  /** @type {PackedColumn[]} */
  const values = JSON.parse(new TextDecoder().decode(await unpack(packed)));
  return new Frame(columns, values.map(unpackColumn));
}

/** @param {PackedExample} example @returns {Promise<Example>} */
export async function unpackExample(example) {
  const [maps, predictions] = await Promise.all([
    unpack(example.maps),
    example.predictions ? unpack(example.predictions) : null,
  ]);
  return { ...example, maps, predictions };
}
