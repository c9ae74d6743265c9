/** The words of a typed text, to choose those to predict and those between which attention is cut. */

import { wordUnits } from "../data/attention.js";
import { headsShown } from "../data/several.js";
import { button, checkbox, element, toggle, visible } from "../dom.js";

const HINTS = {
  masked: "Click a word to mask it and see what the model predicts there.",
  causal: "The model predicts what comes next. Click a word to see what it predicts there from the words before.",
  none: "This model has no language modelling head, so it predicts no words. Its attention heads can be inspected.",
};
const CUT_HINTS = {
  from: "Click the words that may not attend to others. With Shift, all up to the last one clicked.",
  to: "Click the words that they may not attend to. With Shift, all up to the last one clicked.",
};
/** @type {Choice[]} */
const SCOPES = [
  ["all", "all heads"],
  ["shown", "the heads shown below"],
];

/**
 * @param {Context} context @param {Live} live
 * @param {() => void} changed called when the words or the cut are others
 */
export function wordBar({ atlas, store }, live, changed) {
  const { heads } = atlas;
  let mode = "predict";
  let last = 0;
  let [mask, both, scope] = [true, false, "all"];
  /** Words to predict, and units to cut. @type {Record<string, Set<number>>} */
  const marked = { predict: new Set(), from: new Set(), to: new Set() };
  /** @type {string[]} */
  let words = [];
  /** @type {Unit[]} */
  let units = [];
  const controls = element("div", { class: "controls" });
  const bar = element("div", { class: "words", role: "group", "aria-label": "Words of the text" });
  const panel = element("div", { class: "controls cut", role: "status" });
  const node = element("div", {}, controls, bar, panel);

  const isCut = () => marked.from.size > 0 && marked.to.size > 0;
  /** @param {string} side */
  const tokensOf = (side) => [...marked[side]].flatMap((unit) => units[unit].tokens);
  /** @param {string} side */
  const said = (side) => {
    const places = [...marked[side]].sort((a, b) => a - b);
    return element("b", { text: places.map((unit) => `“${visible(units[unit].text)}”`).join(" ") });
  };

  /** @param {number} unit @param {boolean} range */
  function mark(unit, range) {
    const set = marked[mode];
    const [low, high] = range && mode !== "predict" ? [Math.min(unit, last), Math.max(unit, last)] : [unit, unit];
    const on = !set.has(unit);
    for (let place = low; place <= high; place += 1) on ? set.add(place) : set.delete(place);
    last = unit;
    draw();
    changed();
  }

  function draw() {
    /** @type {Choice[]} */
    const modes = [["predict", live.predicts === "masked" ? "Mask" : "Predict"]];
    if (live.removable && live.predicts) modes.push(["from", "Cut from"], ["to", "Cut to"]);
    const choose = (/** @type {string} */ chosen) => {
      mode = chosen;
      draw();
    };
    const hint = mode === "from" || mode === "to" ? CUT_HINTS[mode] : HINTS[live.predicts ?? "none"];
    const hide = (/** @type {boolean} */ visibly) => {
      mask = !visibly;
      changed();
    };
    controls.replaceChildren(
      live.predicts ? toggle("What a click on a word does", modes, mode, choose) : "",
      element("span", { class: "remark", text: hint }),
      live.predicts === "masked" && marked.predict.size ? checkbox("leave it visible", !mask, hide) : "",
    );
    const focused = [...bar.children].findIndex((word) => word === document.activeElement);
    const cutting = mode !== "predict";
    const buttons = units.map(({ text, word }, unit) => {
      const classes = ["from", "to"].filter((side) => marked[side].has(unit));
      if (word < 0) classes.push("special");
      const chosen = cutting ? marked[mode].has(unit) : marked.predict.has(unit);
      const click = (/** @type {MouseEvent} */ event) => mark(unit, event.shiftKey);
      const made = button(visible(word < 0 ? text : words[word]), () => {}, {
        class: classes.join(" "),
        "aria-pressed": String(chosen),
        disabled: word < 0 && !cutting,
      });
      if (marked.predict.has(unit)) made.dataset.predicted = "yes";
      made.addEventListener("click", click);
      return made;
    });
    bar.replaceChildren(...(live.predicts ? buttons : []));
    if (focused >= 0) buttons[focused]?.focus();
    drawPanel(cutting);
  }

  /** What is cut, in which heads. @param {boolean} cutting */
  function drawPanel(cutting) {
    if (!isCut()) {
      const missing = marked.from.size ? "Cut to" : "Cut from";
      const some = marked.from.size + marked.to.size > 0;
      panel.replaceChildren(cutting && some ? `Nothing is cut yet: choose “${missing}” and click words.` : "");
      return;
    }
    const set = (/** @type {() => void} */ change) => {
      change();
      draw();
      changed();
    };
    const clear = () => set(() => [marked.from, marked.to].forEach((side) => side.clear()));
    panel.replaceChildren(
      element("span", {}, "Attention from ", said("from"), " to ", said("to"), " is cut in"),
      toggle("Cut in", SCOPES, scope, (value) => set(() => (scope = value))),
      checkbox("both ways", both, (value) => set(() => (both = value))),
      button("Undo the cut", clear, { class: "quiet" }),
    );
  }

  return {
    node,
    isCut,
    /** Whether the cut depends on the heads that are shown. */
    follows: () => isCut() && scope === "shown",
    /** Forget all marks, for another text. @param {number[]} predicted words to predict at first */
    reset(predicted = []) {
      for (const set of Object.values(marked)) set.clear();
      for (const word of predicted) marked.predict.add(word);
      units = [];
    },
    /** @param {string[]} typed @param {Example} example */
    show(typed, example) {
      const first = !units.length;
      words = typed;
      ({ units } = wordUnits({ ...example, words: typed }, null));
      if (first && marked.predict.size) {
        const predicted = [...marked.predict];
        marked.predict = new Set(units.flatMap(({ word }, unit) => (predicted.includes(word) ? [unit] : [])));
      }
      draw();
    },
    /** What to ask of these words. */
    question() {
      const chosen = units.length ? [...marked.predict].map((unit) => units[unit].word) : [...marked.predict];
      const shown = headsShown(heads, store.shown).map((head) => heads.name(head));
      const cut = { from: tokensOf("from"), to: tokensOf("to"), both, heads: scope === "shown" ? shown : null };
      return { words: chosen, mask, cut: isCut() ? cut : null };
    },
  };
}
