/** Ways through the page: the browser's Back and Forward, and arrow keys that move between heads in every view. */

/** Where arrow keys have a meaning of their own. */
const OWN_ARROWS = "input, select, textarea, dialog, [role=tab], [role=listbox], .table-body";

/**
 * Make every step a part of the browser's history and of the address. Heads that arrow keys pass are one step.
 * @param {Store} store
 */
export function keepHistory(store) {
  if (location.protocol === "about:") return; // a frame of a notebook has no address of its own
  let [passing, passed] = [false, false];
  document.addEventListener("keydown", ({ key }) => (passing = key.startsWith("Arrow")), true);
  document.addEventListener("pointerdown", () => (passing = false), true);

  function remember() {
    const link = store.link();
    if (location.hash === link) return;
    if (passing && passed) history.replaceState(null, "", link);
    else history.pushState(null, "", link);
    passed = passing;
  }
  history.replaceState(null, "", store.link());
  store.listen(remember);
  window.addEventListener("hashchange", () => {
    if (location.hash === store.link()) return;
    [passing, passed] = [true, true]; // what a link says wrongly is corrected, not added
    store.follow(location.hash);
    history.replaceState(null, "", store.link());
    [passing, passed] = [false, false];
  });
}

/**
 * Arrow keys that mean nothing else move between heads: in the picture of all heads that a view has, or by layer and
 * number.
 * @param {Store} store @param {Atlas|Comparison} atlas @param {HTMLElement} main
 */
export function moveByKeys(store, atlas, main) {
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    const plain = !(event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
    if (!plain || !key.startsWith("Arrow") || (target instanceof Element && target.closest(OWN_ARROWS))) return;
    event.preventDefault();
    const picture = main.querySelector("[data-arrows]");
    if (picture) {
      picture.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
      return;
    }
    const { head, other, side } = store.shown;
    if (side === 1 && atlas.sides) store.change({ other: atlas.sides[1].heads.move(Math.max(0, other), key) });
    else store.change({ head: atlas.heads.move(Math.max(0, head), key) });
  });
}
