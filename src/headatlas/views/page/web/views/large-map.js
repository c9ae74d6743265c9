/** The map of one head, as large as the window allows, over the grid. */

import { divide, tokenMap, unitMap } from "../data/attention.js";
import { button, element } from "../dom.js";
import { matrixPicture } from "../pictures/matrix.js";

const BESIDE = { width: 110, height: 210 }; // pixels of the window around the map
const LARGEST_CELL = 44;

/** @param {Context} context */
export function createLargeMap({ atlas, store, palette }) {
  const { heads, content } = atlas;
  const title = element("h2", { "aria-live": "polite" });
  const body = element("div");
  const node = element("dialog", { class: "large", "aria-label": "The map of one head" });
  const sentence = () => {
    node.close();
    store.change({ view: "sentence" });
  };
  node.append(
    element(
      "div",
      { class: "controls" },
      title,
      button("All its weights here", sentence, { class: "quiet" }),
      button("Close", () => node.close(), { class: "quiet" }),
    ),
    body,
    element("p", { class: "remark", text: "Rows attend to columns. Arrow keys move between heads." }),
  );
  node.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    store.change({ head: heads.move(store.shown.head, event.key) });
    draw();
  });

  async function draw() {
    const { head, example: number, unit } = store.shown;
    const example = await atlas.example(number);
    const division = divide(example, unit, content.special.unk);
    const { length } = example.tokens;
    const weights = tokenMap(example.maps, head, length);
    const map = unit === "words" ? unitMap(weights, length, division, content.words_from) : weights;
    const { units } = division;
    const space = Math.min(window.innerWidth - BESIDE.width, window.innerHeight - BESIDE.height);
    const none = () => {};
    const label = `Head ${heads.name(head)} on example ${number + 1}`;
    const picture = matrixPicture({
      units,
      weight: (/** @type {number} */ from, /** @type {number} */ to) => map[from * units.length + to],
      space,
      tallest: LARGEST_CELL,
      colours: palette(),
      marks: [],
      label,
      point: none,
      pin: none,
    });
    title.textContent = label;
    body.replaceChildren(picture.node);
    picture.draw([]);
  }

  return {
    node,
    open() {
      if (!node.open) node.showModal();
      return draw();
    },
  };
}
