/** The sentence: one head or several on one example as lines and as a matrix, with the gold tree or mentions beside. */

import { DIRECTIONS } from "../data/head-facts.js";
import { button, element, select } from "../dom.js";
import { headPictures } from "../pictures/head-pictures.js";
import { anyOf, view } from "../view.js";
import {
  NO_EXAMPLES,
  exampleSelect,
  exploreExample,
  headChips,
  joinHead,
  severalToggle,
  sinkCheckbox,
  unitToggle,
} from "./example-controls.js";

/** @type {Choice[]} */
const SCORED = [["better", "the better direction"], ...Object.entries(DIRECTIONS)];

export const sentenceView = view("sentence", "Sentence", "A head on an example", (shell) => {
  const { atlas, store, node, controls } = shell;
  const pictures = headPictures(
    shell,
    () => atlas.example(store.shown.example),
    () => `example ${store.shown.example + 1}`,
  );
  const savers = atlas.examples.length ? pictures.savers() : [];
  const several = element("div");
  const explore = element("div");
  const said = element("div", { class: "controls" }, pictures.verdict, ...savers);
  node.append(controls, several, said, pictures.note, pictures.stage, explore);

  function drawControls() {
    const { example: number, direction } = store.shown;
    /** @param {number} by @param {string} label @param {string} text */
    const step = (by, label, text) => {
      const disabled = number + by < 0 || number + by >= atlas.examples.length;
      return button(text, () => store.change({ example: number + by }), { "aria-label": label, disabled });
    };
    const picker = exampleSelect(shell);
    picker.classList.add("grow");
    controls.replaceChildren(
      picker,
      element("span", { class: "toggle" }, step(-1, "Previous example", "‹"), step(1, "Next example", "›")),
      severalToggle(store),
      unitToggle(store),
      sinkCheckbox(store),
      atlas.examples[number].tree && store.shown.several === "one"
        ? select("Scored", [["", SCORED]], direction, (value) => store.change({ direction: value }))
        : "",
    );
  }

  return (shown, changed) => {
    if (!atlas.examples.length) {
      pictures.verdict.textContent = NO_EXAMPLES;
      return undefined;
    }
    if (joinHead(store, changed)) return undefined;
    const redraw = anyOf(changed, "view", "example", "unit", "sink", "direction", "theme", "size", "several", "chosen");
    if (redraw) drawControls();
    if (redraw || changed.has("head")) several.replaceChildren(headChips(shell));
    if (anyOf(changed, "view", "example")) explore.replaceChildren(exploreExample(shell));
    if (redraw || changed.has("head")) return pictures.draw();
    if (changed.has("pinned")) pictures.focusOn(shown.pinned);
    return undefined;
  };
});
