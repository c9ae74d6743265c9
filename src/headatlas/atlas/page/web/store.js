/** What is shown now, in one place: views read it, change it, and are told when it has changed. */

import { formatLink, parseLink } from "./links.js";

/**
 * @typedef {{view: string, head: number, example: number, unit: string, special: boolean, measure: string,
 *            show: string, table: string, direction: string, pinned: {side: string, place: number}|null,
 *            theme: string}} Shown
 */

export class Store {
  /** @param {Shown} shown @param {{heads: object, views: string[], examples: number}} known */
  constructor(shown, known) {
    this.shown = shown;
    this.known = known;
    this.listeners = [];
  }

  /** Call `listener(shown, changed)` after every change; `changed` is the set of names that differ. */
  listen(listener) {
    this.listeners.push(listener);
  }

  change(parts) {
    const changed = new Set();
    if ("example" in parts && parts.example !== this.shown.example) parts = { pinned: null, ...parts };
    for (const [name, value] of Object.entries(parts)) {
      if (value !== undefined && this.shown[name] !== value) changed.add(name);
    }
    if (!changed.size) return;
    this.shown = { ...this.shown, ...parts };
    for (const listener of this.listeners) listener(this.shown, changed);
  }

  /** The address of what is shown. */
  link() {
    const { view, head, example, unit, measure, table } = this.shown;
    return formatLink({
      head: this.known.heads.name(head),
      view,
      example: view === "sentence" || view === "grid" ? example + 1 : "",
      unit: view === "sentence" && unit === "tokens" ? unit : "",
      measure: view === "grid" && this.shown.show === "values" ? measure : "",
      table: view === "tables" ? table : "",
    });
  }

  /** Follow an address; what it does not know or cannot show is passed over. */
  follow(hash) {
    const parts = parseLink(hash);
    const { heads, views, examples } = this.known;
    const change = {};
    const head = parts.head === undefined ? -1 : heads.parse(parts.head);
    if (head >= 0) change.head = head;
    if (views.includes(parts.view)) change.view = parts.view;
    const example = Number(parts.example) - 1;
    if (Number.isInteger(example) && example >= 0 && example < examples) change.example = example;
    if (parts.unit === "tokens" || parts.unit === "words") change.unit = parts.unit;
    if (parts.measure) Object.assign(change, { measure: parts.measure, show: "values" });
    if (parts.table) change.table = parts.table;
    this.change(change);
  }
}
