/** What is shown now, in one place: views read it, change it, and are told when it has changed. */

import { formatLink, parseLink } from "./links.js";

/**
 * @typedef {{view: string, head: number, other: number, side: number, example: number, unit: string, special: boolean, measure: string,
 *            show: string, table: string, among: string, scope: string, direction: string, pinned: {side: string, place: number}|null,
 *            theme: string}} Shown
 * Where two atlases are compared, `head` is one of A, `other` one of B, and `side` that on which one was chosen; -1 is none.
 */

export class Store {
  /** @param {Shown} shown @param {{heads: object, others?: object, views: string[], examples: number, complete?: Function}} known */
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
    parts = this.known.complete?.(parts) ?? parts;
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
    const { view, head, other, side, example, unit, measure, table, among, scope } = this.shown;
    return formatLink({
      head: side === 1 ? "" : this.known.heads.name(head),
      other: side === 1 ? this.known.others.name(other) : "",
      view,
      example: view === "sentence" || view === "grid" ? example + 1 : "",
      unit: view === "sentence" && unit === "tokens" ? unit : "",
      measure: (view === "grid" && this.shown.show === "values") || view === "sides" ? measure : "",
      among: view === "differences" ? among : "",
      scope: view === "differences" ? scope : "",
      table: view === "tables" ? table : "",
    });
  }

  /** Follow an address; what it does not know or cannot show is passed over. */
  follow(hash) {
    const parts = parseLink(hash);
    const { heads, others, views, examples } = this.known;
    const change = {};
    const head = parts.head === undefined ? -1 : heads.parse(parts.head);
    const other = parts.other === undefined ? -1 : (others?.parse(parts.other) ?? -1);
    if (other >= 0) change.other = other;
    else if (head >= 0) change.head = head;
    if (views.includes(parts.view)) change.view = parts.view;
    const example = Number(parts.example) - 1;
    if (Number.isInteger(example) && example >= 0 && example < examples) change.example = example;
    if (parts.unit === "tokens" || parts.unit === "words") change.unit = parts.unit;
    if (parts.measure) Object.assign(change, { measure: parts.measure, show: "values" });
    for (const name of ["table", "among", "scope"]) if (parts[name]) change[name] = parts[name];
    this.change(change);
  }
}
