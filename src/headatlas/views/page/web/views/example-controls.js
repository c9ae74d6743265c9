/** Controls of the views that show examples. */

import { UNITS, exampleGroups } from "../data/options.js";
import { checkbox, select, toggle } from "../dom.js";

export const NO_EXAMPLES = "This atlas has no examples. Run the survey again with --examples 60 to keep some.";

/** @param {Context} context */
export function exampleSelect({ atlas, store }) {
  const change = (/** @type {string} */ value) => store.change({ example: Number(value) });
  return select("Example", exampleGroups(atlas), String(store.shown.example), change);
}

/** Words or tokens. @param {Store} store */
export function unitToggle(store) {
  return toggle("Units", UNITS, store.shown.unit, (unit) => store.change({ unit, pinned: null }));
}

/** With or without special tokens. @param {Store} store */
export function specialCheckbox(store) {
  return checkbox("special tokens", store.shown.special, (special) => store.change({ special, pinned: null }));
}
