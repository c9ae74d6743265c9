/** The weights: the text of an example, each word the darker the more attention it receives from the chosen head. */

import { divide, received, tokenMap } from "../data/attention.js";
import { percent } from "../data/frames.js";
import { picture, svg, textWidth, toggle, visible } from "../dom.js";
import { tip } from "../tip.js";
import { anyOf, view } from "../view.js";
import { NO_EXAMPLES, exampleSelect, unitToggle } from "./example-controls.js";

const SIZE = 16; // pixels of a letter
const [LINE, GAP, PAD] = [34, 5, 4];
/** @type {Choice[]} */
const POOLINGS = [
  ["mean", "Mean of its column"],
  ["max", "Largest"],
];

/** @typedef {{text: string, weight: number, key: boolean}} Word `key` if the corpus marks it */

export const weightsView = view("weights", "Weights", "Text shaded by the attention it receives", (shell) => {
  const { atlas, store, palette, node, controls, verdict, stage } = shell;
  let pooling = "mean";
  let turn = 0;
  node.append(controls, verdict, stage);

  function drawControls() {
    const { head, example } = store.shown;
    const pool = (/** @type {string} */ value) => {
      pooling = value;
      drawControls();
      draw();
    };
    controls.replaceChildren(
      exampleSelect(shell),
      unitToggle(store),
      toggle("What a word receives", POOLINGS, pooling, pool),
      shell.savers(() => `weights-head-${atlas.heads.name(head)}-example-${example + 1}`),
    );
  }

  async function draw() {
    const started = (turn += 1);
    const { head, unit, example: number } = store.shown;
    const example = await atlas.example(number);
    if (started !== turn) return; // a newer drawing has begun
    const { length } = example.tokens;
    const division = divide(example, unit, atlas.content.special.unk);
    const weights = received(tokenMap(example.maps, head, length), length, division, pooling);
    const words = division.units.flatMap(({ text, word }, place) =>
      word < 0 ? [] : [{ text, weight: weights[place], key: Boolean(example.key?.[word]) }],
    );
    stage.replaceChildren(shadedText(words, palette(), shell.stageWidth()));
    verdict.textContent = `Head ${atlas.heads.name(head)}: ${summary(words)}`;
  }

  return (_shown, changed) => {
    if (!atlas.examples.length) {
      verdict.textContent = NO_EXAMPLES;
      return undefined;
    }
    if (!anyOf(changed, "view", "example", "unit", "head", "theme", "size")) return undefined;
    drawControls();
    return draw();
  };
});

/** @param {Word[]} words @param {Palette} colours @param {number} width */
function shadedText(words, colours, width) {
  const most = Math.max(...words.map((word) => word.weight)) || 1;
  let [x, row] = [0, 0];
  const groups = words.map(({ text, weight, key }) => {
    const bold = key ? 700 : 400;
    const wide = textWidth(visible(text), SIZE, bold) + 2 * PAD;
    if (x > 0 && x + wide > width) [x, row] = [0, row + 1];
    const top = row * LINE;
    const box = { x, y: top + 4, width: wide, height: LINE - 10, rx: 3, fill: colours.shade(weight / most) };
    const letters = { fill: colours.onShade(weight / most), "font-size": SIZE, "font-weight": bold };
    const line = { d: `M${x + PAD} ${top + LINE - 3}h${wide - 2 * PAD}`, stroke: colours.picked, "stroke-width": 2.4 };
    const group = svg(
      "g",
      { "data-word": text },
      svg("rect", box),
      svg("text", { x: x + PAD, y: top + 22, text: visible(text), ...letters }),
      key && svg("path", line),
    );
    const note = [visible(text), `receives ${percent(weight, 2)}${key ? ", marked in the corpus" : ""}`];
    group.addEventListener("pointermove", (event) => tip(event, note));
    group.addEventListener("pointerleave", (event) => tip(event, null));
    x += wide + GAP;
    return group;
  });
  const root = picture({ width, height: (row + 1) * LINE + 4 }, "Words shaded by the attention they receive");
  root.append(svg("g", {}, ...groups));
  return root;
}

/** @param {Word[]} words */
function summary(words) {
  const [key, other] = [true, false].map((wanted) => words.filter((word) => word.key === wanted));
  if (!key.length) return "the darker a word, the more attention it receives.";
  /** @param {Word[]} list */
  const mean = (list) => list.reduce((sum, { weight }) => sum + weight, 0) / Math.max(1, list.length);
  const rest = `other words receive ${percent(mean(other), 2)}.`;
  return `on average, a marked word (underlined) receives ${percent(mean(key), 2)}; ${rest}`;
}
