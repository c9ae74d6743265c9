/** Live: the reader's own text, every head on it, heads removed by a click, and the words the model then predicts. */

import { AskError, Newest, ask } from "../data/asking.js";
import { unpackExample } from "../data/atlas.js";
import { counted } from "../data/frames.js";
import { button, element, visible } from "../dom.js";
import { headGrid } from "../pictures/head-grid.js";
import { headPictures } from "../pictures/head-pictures.js";
import { predictionTables } from "../pictures/predictions.js";
import { anyOf, view } from "../view.js";
import { specialCheckbox, unitToggle } from "./example-controls.js";

const FIRST = "The old man fed his dog before he went to work.";
const PAUSE = 250; // milliseconds without a letter before a text is read
const MOST_NAMED = 16; // removed heads

const HINTS = {
  masked: "Click a word to mask it and see what the model predicts there.",
  causal:
    "Below is what the model predicts next. Click a word to see what it predicts in its place from the words before.",
  none: "This model has no language modelling head, so it predicts no words. Its attention heads can be inspected.",
};

export const liveView = view("live", "Live", "A text of your own", (shell) => {
  const { atlas, store, palette, node, controls } = shell;
  const { heads } = atlas;
  const live = /** @type {Live} */ (atlas.content.live);
  let text = FIRST;
  /** @type {string[]} */
  let words = [];
  /** @type {Set<number>} */
  let chosen = new Set();
  /** @type {Set<number>} */
  const removed = new Set();
  /** @type {Example|null} */
  let example = null;
  /** @type {Prediction[]} */
  let predictions = [];
  /** @type {import("../pictures/head-grid.js").HeadGrid|null} */
  let grid = null;

  const pictures = headPictures(
    shell,
    () => /** @type {Example} */ (example),
    () => "your text",
  );
  const caption = `A text of your own, up to ${counted(live.most_tokens)} tokens`;
  const box = element("textarea", { rows: 2, id: "live-text", dir: "auto", spellcheck: "false", maxlength: 60000 });
  box.value = text;
  const problem = element("p", { class: "problem", role: "alert" });
  const wordBar = element("div", { class: "words", role: "group", "aria-label": "Words of the text" });
  const expected = element("div", { class: "expected", "aria-live": "polite" });
  const gridPlace = element("div", { class: "removal" });
  node.append(
    element("label", { for: "live-text", class: "caption", text: caption }),
    box,
    problem,
    element("p", { class: "remark", text: HINTS[live.predicts ?? "none"] }),
    live.predicts ? wordBar : "",
    element("div", { class: "beside" }, gridPlace, expected),
    controls,
    element("div", { class: "controls" }, pictures.verdict, ...pictures.savers()),
    pictures.stage,
  );

  const questions = new Newest(async (/** @type {object} */ question) => {
    try {
      const answer = await ask(live, question);
      example = await unpackExample(answer.example);
      ({ words, predictions } = answer);
      problem.textContent = "";
    } catch (error) {
      if (!(error instanceof AskError)) throw error;
      problem.textContent = error.message;
      node.dataset.state = "refused";
      drawWords();
      return;
    }
    drawWords();
    expected.replaceChildren(...predictionTables(predictions, words, removed.size > 0));
    await pictures.draw();
    node.dataset.state = "answered";
  });

  function read() {
    node.dataset.state = "asked";
    return questions.give({ text, words: [...chosen], removed: [...removed].map((index) => heads.name(index)) });
  }

  let waiting = 0;
  box.addEventListener("input", () => {
    clearTimeout(waiting);
    node.dataset.state = "asked";
    waiting = window.setTimeout(() => {
      text = box.value;
      chosen = new Set();
      read();
    }, PAUSE);
  });

  function drawWords() {
    const focused = [...wordBar.children].findIndex((word) => word === document.activeElement);
    const buttons = words.map((word, place) => {
      const click = () => {
        if (!chosen.delete(place)) chosen.add(place);
        read();
      };
      return button(visible(word), click, { "aria-pressed": String(chosen.has(place)) });
    });
    wordBar.replaceChildren(...buttons);
    buttons[focused]?.focus();
  }

  function drawGrid() {
    const pitch = Math.max(9, Math.min(24, Math.floor(360 / heads.widest), Math.floor(260 / heads.layers)));
    grid = headGrid(heads, {
      pitch,
      gap: 2,
      axes: false,
      label: "Remove heads: arrow keys move, Enter removes or restores",
      id: "removal",
      choose: (head) => store.change({ head }),
      say: (index) => {
        return [`Head ${heads.name(index)}`, removed.has(index) ? "removed: click to restore" : "click to remove"];
      },
      press: (index) => {
        if (!live.removable) return;
        if (!removed.delete(index)) removed.add(index);
        drawRemoved();
        read();
      },
    });
    grid.select(store.shown.head);
    drawRemoved();
  }

  function drawRemoved() {
    const colours = palette();
    grid?.paint((index) => (removed.has(index) ? colours.wrong : colours.none), colours);
    const restore = () => {
      removed.clear();
      drawRemoved();
      read();
    };
    const names = [...removed].sort((a, b) => a - b).map((index) => heads.name(index));
    gridPlace.replaceChildren(
      grid?.node ?? "",
      element("p", { class: "caption", role: "status" }, ...removalLine(names, live.removable)),
      button("Restore all", restore, { class: "quiet", disabled: !removed.size }),
    );
  }

  return (shown, changed) => {
    const redraw = anyOf(changed, "view", "unit", "special", "theme", "size");
    if (redraw) controls.replaceChildren(unitToggle(store), specialCheckbox(store));
    if (anyOf(changed, "view", "theme")) drawGrid();
    else if (changed.has("head")) grid?.select(shown.head);
    if (!example) return read();
    if (redraw || changed.has("head")) return pictures.draw();
    if (changed.has("pinned")) pictures.focusOn(shown.pinned);
    return undefined;
  };
});

/** @param {string[]} names @param {boolean} removable */
function removalLine(names, removable) {
  if (!removable) return ["You can inspect the heads of this architecture but not remove them."];
  if (!names.length) return ["Click heads to remove them."];
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  const listed = names
    .slice(0, MOST_NAMED)
    .flatMap((name, place) => [place ? ", " : "", element("span", { class: "whole", text: name })]);
  return ["Removed: ", ...listed, more];
}
