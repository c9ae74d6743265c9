/**
 * The table of differences between two atlases: what can be chosen from it, in which order, and what a row is called.
 */

import { isShare, spaced } from "./measures.js";

/** Kinds of rows, in the order in which they are offered. @type {Record<string, string>} */
export const SCOPES = {
  best: "best heads",
  head: "head by head",
  layer: "means per layer",
  model: "means over all heads",
  row: "as they are",
};

/** @typedef {{id: string, table: string, column: string, label: string, scopes: Set<string>}} Group */

/** @param {Atlas} atlas */
export function differencesOf({ frames }) {
  return /** @type {Frame} */ (frames.get("differences"));
}

/** The columns that are compared, each with its scopes. @param {Frame} frame */
export function groupsOf(frame) {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  for (const { table, column, scope } of frame.records()) {
    const id = `${table}/${column}`;
    const label = column === "value" ? spaced(table) : `${spaced(table)}: ${spaced(column)}`;
    const group = groups.get(id) ?? { id, table, column, label, scopes: new Set() };
    groups.set(id, group);
    group.scopes.add(scope);
  }
  return groups;
}

/**
 * The group that a link names, otherwise that of the best heads, otherwise the first.
 * @param {Map<string, Group>} groups @param {string} id @param {string|undefined} column
 */
export function chosenGroup(groups, id, column) {
  return groups.get(id) ?? groups.get(`dependency_best/${column}`) ?? [...groups.values()][0];
}

/** @param {Frame} frame @param {Group} group @param {string|undefined} scope */
export function rowsOfGroup(frame, { table, column }, scope) {
  const [tables, columns, scopes] = ["table", "column", "scope"].map((name) => frame.get(name));
  return frame.where((row) => tables[row] === table && columns[row] === column && scopes[row] === scope);
}

/** Whether the values of a group are shares. @param {Atlas} atlas @param {Group} group */
export function hasShares({ content: { differences } }, { id }) {
  return isShare(differences?.[id]?.unit ?? "");
}

/** @param {Frame} frame @param {number} row */
export function excludesZero(frame, row) {
  return frame.get("low")[row] > 0 || frame.get("high")[row] < 0;
}

/**
 * Rows that have a difference, by its size, or by how far its interval is from 0 and then by its size.
 * @param {Frame} frame @param {number[]} rows @param {string} order "largest" or "surest"
 * @param {boolean} clearOnly only rows with an interval that excludes 0
 */
export function ranked(frame, rows, order, clearOnly) {
  const [differences, lows, highs] = ["difference", "low", "high"].map((name) => frame.get(name));
  /** @param {number} row */
  const size = (row) => Math.abs(differences[row]);
  /** @param {number} row */
  const gap = (row) => (lows[row] === null ? 0 : Math.max(0, lows[row], -highs[row]));
  return rows
    .filter((row) => differences[row] !== null && (!clearOnly || (lows[row] !== null && excludesZero(frame, row))))
    .sort((a, b) => (order === "surest" ? gap(b) - gap(a) : 0) || size(b) - size(a) || a - b);
}

/**
 * What a row is about: its head or layer, and its measure in words.
 * @param {{content: Pick<Content, "differences">}} atlas @param {Frame} frame @param {number} row
 */
export function rowTitle(atlas, frame, row) {
  const [table, column, scope] = ["table", "column", "scope"].map((name) => frame.get(name)[row]);
  /** @type {string} the keys, for example "relation=dobj direction=dependent_to_head" */
  const measure = frame.get("measure")[row] ?? "";
  const words = measure.split(/ (?=[a-z_]+=)/).map((part) => part.replace(/^[a-z_]+=/, ""));
  const what = atlas.content.differences?.[`${table}/${column}`]?.labels[measure] ?? words.join(", ");
  const [a, b] = ["a", "b"].map((end) => `${frame.get(`layer_${end}`)[row]}-${frame.get(`head_${end}`)[row]}`);
  if (scope === "best") return `${what} ${a === b ? `(${a})` : `(A ${a}, B ${b})`}`;
  if (scope === "head") return `${a} ${what}`;
  return scope === "layer" ? `layer ${frame.get("layer_a")[row]} ${what}` : what;
}
