/** Which heads are removed, with the buttons that remove and restore them. */

import { button, element } from "../dom.js";

const FIXED = "You can inspect the heads of this architecture but not remove them.";
const MOST_NAMED = 16;

/**
 * @param {Heads} heads @param {Set<number>} removed
 * @param {{current: number, removable: boolean, remove: (head: number) => void, restore: () => void}} options
 *   `remove` restores a head that is removed
 */
export function removalBar(heads, removed, { current, removable, remove, restore }) {
  const status = { class: "caption", role: "status" };
  if (!removable) return [element("span", { ...status, text: FIXED })];
  const verb = removed.has(current) ? "Restore" : "Remove";
  return [
    button(`${verb} head ${heads.name(current)}`, () => remove(current), { class: "quiet" }),
    element("span", status, ...removedNames(heads, removed)),
    removed.size ? button("Restore all", restore, { class: "quiet" }) : "",
  ];
}

/** @param {Heads} heads @param {Set<number>} removed */
function removedNames(heads, removed) {
  if (!removed.size) return ["No head is removed."];
  const names = [...removed].sort((a, b) => a - b).map((index) => heads.name(index));
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  const listed = names
    .slice(0, MOST_NAMED)
    .flatMap((name, place) => [place ? ", " : "", element("span", { class: "whole", text: name })]);
  return ["Removed: ", ...listed, more];
}
