/** Live: a text of the reader's own, every head on it, heads removed by a click, and the words the model then expects. */

import { ask, AskError, Newest } from "../data/asking.js";
import { unpackExample } from "../data/atlas.js";
import { checkbox, element, toggle, visible } from "../dom.js";
import { headGrid } from "../pictures/head-grid.js";
import { headPictures } from "../pictures/head-pictures.js";
import { predictionTables } from "../pictures/predictions.js";

const FIRST = "The old man fed his dog before he went to work.";
const PAUSE = 250; // milliseconds without a letter before a text is read
const MOST_NAMED = 16; // removed heads

const HINTS = {
  masked: "Click a word to mask it and see what the model expects there.",
  causal:
    "Below is what the model expects next. Click a word to see what it expects in its place from the words before.",
  none: "This model has no language model head, so it predicts no words; heads can be looked at all the same.",
};

export const liveView = { name: "live", title: "Live", create };

function create(context) {
  const { atlas, store, palette } = context;
  const { live } = atlas.content;
  const { heads } = atlas;
  let text = FIRST;
  let words = [];
  let chosen = new Set();
  const removed = new Set();
  let example = null;
  let predictions = [];
  let grid = null;

  const pictures = headPictures(
    context,
    () => example,
    () => "your text",
  );
  const box = element("textarea", {
    rows: 2,
    id: "live-text",
    dir: "auto",
    spellcheck: "false",
    maxlength: 60000,
    on: { input: typed },
  });
  box.value = text;
  const problem = element("p", { class: "problem", role: "alert" });
  const wordBar = element("div", { class: "words", role: "group", "aria-label": "Words of the text" });
  const expected = element("div", { class: "expected", "aria-live": "polite" });
  const controls = element("div", { class: "controls" });
  const gridPlace = element("div", { class: "removal" });
  const node = element(
    "section",
    { class: "view live", "aria-label": "A text of your own" },
    element("label", {
      for: "live-text",
      class: "caption",
      text: `A text of your own, up to ${live.most_tokens.toLocaleString("en")} tokens`,
    }),
    box,
    problem,
    element("p", { class: "remark", text: HINTS[live.predicts ?? "none"] }),
    live.predicts ? wordBar : "",
    element("div", { class: "beside" }, gridPlace, expected),
    controls,
    element("div", { class: "controls" }, pictures.verdict, ...pictures.savers()),
    pictures.stage,
  );

  const questions = new Newest(async (question) => {
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
    drawExpected();
    await pictures.draw();
    node.dataset.state = "answered";
  });

  function read() {
    node.dataset.state = "asked";
    return questions.give({ text, words: [...chosen], removed: [...removed].map((index) => heads.name(index)) });
  }

  let waiting = 0;
  function typed() {
    clearTimeout(waiting);
    node.dataset.state = "asked";
    waiting = setTimeout(() => {
      text = box.value;
      chosen = new Set();
      read();
    }, PAUSE);
  }

  function drawWords() {
    const focused = [...wordBar.children].indexOf(document.activeElement);
    const press = (place) => {
      if (!chosen.delete(place)) chosen.add(place);
      read();
    };
    wordBar.replaceChildren(
      ...words.map((word, place) =>
        element("button", {
          type: "button",
          "aria-pressed": String(chosen.has(place)),
          text: visible(word),
          on: { click: () => press(place) },
        }),
      ),
    );
    wordBar.children[focused]?.focus();
  }

  function drawExpected() {
    expected.replaceChildren(...predictionTables(predictions, words, removed.size > 0));
  }

  function press(index) {
    if (!live.removable) return;
    if (!removed.delete(index)) removed.add(index);
    drawRemoved();
    read();
  }

  function drawGrid() {
    const pitch = Math.max(9, Math.min(24, Math.floor(360 / heads.widest), Math.floor(260 / heads.layers)));
    const label = "Remove heads: arrow keys move, Enter removes or restores";
    const say = (index) => [
      `Head ${heads.name(index)}`,
      removed.has(index) ? "removed: click to restore" : "click to remove",
    ];
    grid = headGrid(heads, {
      pitch,
      gap: 2,
      axes: false,
      label,
      id: "removal",
      choose: (head) => store.change({ head }),
      say,
      press,
    });
    grid.select(store.shown.head);
    drawRemoved();
  }

  function drawRemoved() {
    const colours = palette();
    grid.paint((index) => (removed.has(index) ? colours.wrong : colours.none), colours);
    const restore = element("button", {
      type: "button",
      class: "quiet",
      text: "Restore all",
      disabled: !removed.size,
      on: {
        click: () => {
          removed.clear();
          drawRemoved();
          read();
        },
      },
    });
    const names = [...removed].sort((a, b) => a - b).map((index) => heads.name(index));
    gridPlace.replaceChildren(
      grid.node,
      element("p", { class: "caption", role: "status" }, ...removalLine(names)),
      restore,
    );
  }

  function removalLine(names) {
    if (!live.removable) return ["The heads of this architecture can be looked at but not removed."];
    if (!names.length) return ["Click heads to remove them."];
    const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
    const shown = names
      .slice(0, MOST_NAMED)
      .flatMap((name, place) => [place ? ", " : "", element("span", { class: "whole", text: name })]);
    return ["Removed: ", ...shown, more];
  }

  function drawControls() {
    const { shown } = store;
    controls.replaceChildren(
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
    );
  }

  return {
    node,
    update(shown, changed) {
      const drawn = ["view", "unit", "special", "theme", "size"].some((name) => changed.has(name));
      if (drawn) drawControls();
      if (changed.has("view") || changed.has("theme")) drawGrid();
      else if (changed.has("head")) grid.select(shown.head);
      if (!example) return read();
      if (drawn || changed.has("head")) return pictures.draw();
      if (changed.has("pinned")) pictures.focusOn(shown.pinned);
      return undefined;
    },
  };
}
