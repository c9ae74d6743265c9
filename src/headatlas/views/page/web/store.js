/** What is shown, in one place: views read it, change it, and are notified after a change. */

import { formatLink, parseLink } from "./links.js";

/**
 * @typedef {{heads: Heads, others?: Heads, views: string[], examples: number,
 *            complete?: (parts: Change) => Change}} Known
 *   what links may name, and `complete`, which adds to a change what follows from it
 */

export class Store {
  /** @param {Shown} shown @param {Known} known */
  constructor(shown, known) {
    this.shown = shown;
    this.known = known;
    /** @type {Update[]} */
    this.listeners = [];
  }

  /**
   * Call `listener(shown, changed)` after every change; `changed` is the set of names that differ.
   * @param {Update} listener
   */
  listen(listener) {
    this.listeners.push(listener);
  }

  /** @param {Change} parts */
  change(parts) {
    /** @type {Set<string>} */
    const changed = new Set();
    parts = this.known.complete?.(parts) ?? parts;
    if ("example" in parts && parts.example !== this.shown.example) parts = { pinned: [], ...parts };
    for (const [name, value] of Object.entries(parts)) {
      if (value !== undefined && this.shown[/** @type {keyof Shown} */ (name)] !== value) changed.add(name);
    }
    if (!changed.size) return;
    this.shown = { ...this.shown, ...parts };
    for (const listener of this.listeners) listener(this.shown, changed);
  }

  /** The part of the address that leads back to what is shown. */
  link() {
    const { view, head, other, side, example, unit, measure, show, table, among, scope, only } = this.shown;
    const values = view === "grid" && show === "values";
    return formatLink({
      head: side === 1 ? "" : this.known.heads.name(head),
      other: side === 1 ? this.known.others?.name(other) : "",
      view,
      example: ["overview", "sentence", "grid"].includes(view) && this.known.examples ? example + 1 : "",
      unit: view === "sentence" && unit === "tokens" ? unit : "",
      measure: values || view === "sides" ? measure : "",
      show: view === "grid" && !values ? show : "",
      only: view === "overview" ? only : "",
      among: view === "differences" ? among : "",
      scope: view === "differences" ? scope : "",
      table: view === "tables" ? table : "",
      with: view === "sentence" || view === "live" ? this.#together() : "",
      text: view === "live" ? this.shown.text : "",
    });
  }

  /** The heads that are shown with the head of the link: "layer", or their names. */
  #together() {
    const { several, chosen } = this.shown;
    if (several === "several") return chosen.map((head) => this.known.heads.name(head)).join(" ");
    return several === "layer" ? several : "";
  }

  /** Follow a link; whatever it names that does not exist is ignored. @param {string} hash */
  follow(hash) {
    const parts = parseLink(hash);
    const { heads, others, views, examples } = this.known;
    /** @type {Change} */
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
    else if (parts.show === "maps") change.show = "maps";
    if (parts.only || parts.view === "overview") change.only = parts.only ?? "";
    for (const name of /** @type {const} */ (["table", "among", "scope"])) if (parts[name]) change[name] = parts[name];
    if (parts.text) change.text = parts.text;
    const chosen = (parts.with ?? "").split(" ").map((name) => heads.parse(name));
    if (parts.with === "layer") change.several = "layer";
    else if (parts.with && chosen.every((index) => index >= 0)) Object.assign(change, { several: "several", chosen });
    this.change(change);
  }
}
