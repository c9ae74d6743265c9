/** The sentence: one head on one example as lines and as a matrix, with the gold tree or mentions beside it. */

import { checkbox, element, select, toggle } from "../dom.js";
import { exampleGroups } from "../data/options.js";
import { WAYS, headPictures } from "../pictures/head-pictures.js";

const ABSENT = "This atlas has no examples. Survey again with --examples 60 to keep some.";
const DIRECTIONS = [["better", "the better way"], ...Object.entries(WAYS)];

export const sentenceView = { name: "sentence", title: "Sentence", create };

function create(context) {
  const { atlas, store } = context;
  const node = element("section", { class: "view", "aria-label": "A head on an example" });
  const controls = element("div", { class: "controls" });
  const pictures = headPictures(
    context,
    () => atlas.example(store.shown.example),
    () => `example ${store.shown.example + 1}`,
  );
  const { verdict, stage } = pictures;
  const below = atlas.examples.length ? pictures.savers() : [];
  node.append(controls, element("div", { class: "controls" }, verdict, ...below), stage);

  function drawControls() {
    const { shown } = store;
    const last = atlas.examples.length - 1;
    const step = (by, label, text) =>
      element("button", {
        type: "button",
        text,
        "aria-label": label,
        disabled: shown.example + by < 0 || shown.example + by > last,
        on: { click: () => store.change({ example: store.shown.example + by }) },
      });
    const picker = select("Example", exampleGroups(atlas), String(shown.example), (value) =>
      store.change({ example: Number(value) }),
    );
    picker.classList.add("grow");
    const example = atlas.examples[shown.example];
    controls.replaceChildren(
      picker,
      element("span", { class: "toggle" }, step(-1, "Previous example", "‹"), step(1, "Next example", "›")),
      toggle(
        "Units",
        [
          ["words", "Words"],
          ["tokens", "Tokens"],
        ],
        shown.unit,
        (unit) => store.change({ unit, pinned: null }),
      ),
      checkbox("special tokens", shown.special, (special) => store.change({ special, pinned: null })),
      example.tree
        ? select("Scored", [["", DIRECTIONS]], shown.direction, (direction) => store.change({ direction }))
        : "",
    );
  }

  return {
    node,
    update(_shown, changed) {
      if (!atlas.examples.length) {
        verdict.textContent = ABSENT;
        return undefined;
      }
      const drawn = ["view", "example", "unit", "special", "direction", "theme", "size"].some((name) =>
        changed.has(name),
      );
      if (drawn) drawControls();
      if (drawn || changed.has("head")) return pictures.draw();
      if (changed.has("pinned")) pictures.focusOn(store.shown.pinned);
      return undefined;
    },
  };
}
