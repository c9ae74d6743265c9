/** What pictures of all heads share: the head under the pointer, and the keys that choose and press one. */

/** The head that an event is about, -1 if none. @param {Event} event */
export function headAt(event) {
  return Number(/** @type {SVGElement} */ (event.target).dataset.head ?? -1);
}

/**
 * Arrow keys, Home and End choose a head; Enter and the space bar press it.
 * @param {SVGElement} node
 * @param {{current: () => number, move: (head: number, key: string) => number, choose: (head: number) => void,
 *          press: (head: number) => void}} actions
 */
export function onHeadKeys(node, { current, move, choose, press }) {
  node.addEventListener("keydown", (event) => {
    const target = move(current(), event.key);
    const presses = event.key === "Enter" || event.key === " ";
    if (target === current() && !presses && !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    if (presses) press(current());
    else if (target !== current()) choose(target);
  });
}
