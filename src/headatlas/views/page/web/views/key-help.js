/** A list of the keys, shown by `?`. */

import { button, element } from "../dom.js";

const KEYS = [
  ["← → ↑ ↓", "the next head or layer; on a map the next point; on a word the next word"],
  ["Home, End", "the first and the last head of the layer, in the overview and in the grid"],
  ["Enter", "opens the map of a head large, in the grid; keeps a word, in a sentence"],
  ["Escape", "closes what is open, releases a word"],
  ["/", "search"],
  ["Back, Forward", "of the browser: what was seen before"],
  ["?", "this list"],
];

export function createKeyHelp() {
  const rows = KEYS.map(([keys, does]) =>
    element("tr", {}, element("th", { scope: "row" }, element("kbd", { text: keys })), element("td", { text: does })),
  );
  const node = element("dialog", { class: "keys", "aria-label": "Keys" });
  node.append(
    element("h2", { text: "Keys" }),
    element("table", {}, element("tbody", {}, ...rows)),
    button("Close", () => node.close(), { class: "quiet" }),
  );
  const toggle = () => (node.open ? node.close() : node.showModal());
  document.addEventListener("keydown", ({ key, target }) => {
    if (key === "?" && !(target instanceof Element && target.matches("input, textarea"))) toggle();
  });
  return { node, toggle };
}
