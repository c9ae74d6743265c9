/** The weights: the text of an example, each word the darker the more attention it receives from the chosen head. */

import { tokenMap, tokenUnits, wordUnits } from "../data/attention.js";
import { element, select, svg, textWidth, toggle, visible } from "../dom.js";
import { exampleGroups } from "../data/options.js";
import { received } from "../data/received.js";
import { savers } from "../saving.js";
import { tip } from "../tip.js";

const SIZE = 16; // pixels of a letter
const STAGE_PADDING = 30;
const [LINE, GAP, PAD] = [34, 5, 4];
const ABSENT = "This atlas has no examples. Survey again with --examples 60 to keep some.";
const POOLINGS = [
  ["mean", "Mean of its column"],
  ["max", "Largest"],
];

export const weightsView = { name: "weights", title: "Weights", create };

function create({ atlas, store, palette, room }) {
  const node = element("section", { class: "view", "aria-label": "Text shaded by the attention it receives" });
  const controls = element("div", { class: "controls" });
  const verdict = element("p", { class: "verdict", "aria-live": "polite" });
  const stage = element("div", { class: "stage" });
  let pooling = "mean";
  let turn = 0;
  node.append(controls, verdict, stage);

  function drawControls() {
    const { shown } = store;
    const name = () => `weights-head-${atlas.heads.name(shown.head)}-example-${shown.example + 1}`;
    const pool = (value) => {
      pooling = value;
      drawControls();
      draw();
    };
    controls.replaceChildren(
      select("Example", exampleGroups(atlas), String(shown.example), (value) =>
        store.change({ example: Number(value) }),
      ),
      toggle(
        "Units",
        [
          ["words", "Words"],
          ["tokens", "Tokens"],
        ],
        shown.unit,
        (unit) => store.change({ unit, pinned: null }),
      ),
      toggle("What a word receives", POOLINGS, pooling, pool),
      savers(
        name,
        () => stage.querySelector("svg"),
        () => palette().paper,
      ),
    );
  }

  async function draw() {
    const mine = (turn += 1);
    const { shown } = store;
    const example = await atlas.example(shown.example);
    if (mine !== turn) return;
    const division = shown.unit === "words" ? wordUnits(example, atlas.content.special.unk) : tokenUnits(example);
    const weights = received(
      tokenMap(example.maps, shown.head, example.tokens.length),
      example.tokens.length,
      division,
      pooling,
    );
    const words = division.units
      .map((unit, place) => ({
        ...unit,
        weight: weights[place],
        key: unit.word >= 0 && Boolean(example.key?.[unit.word]),
      }))
      .filter((unit) => unit.word >= 0);
    stage.replaceChildren(picture(words, palette(), room().width - STAGE_PADDING));
    verdict.textContent = summary(words);
  }

  function picture(words, colours, width) {
    const top = Math.max(...words.map((word) => word.weight)) || 1;
    const root = svg("g");
    let [x, row] = [0, 0];
    for (const { text, weight, key } of words) {
      const wide = textWidth(visible(text), SIZE, key ? 700 : 400) + 2 * PAD;
      if (x > 0 && x + wide > width) [x, row] = [0, row + 1];
      const fill = colours.shade(weight / top);
      const box = svg("rect", { x, y: row * LINE + 4, width: wide, height: LINE - 10, rx: 3, fill });
      const word = svg("text", {
        x: x + PAD,
        y: row * LINE + 22,
        text: visible(text),
        fill: colours.onShade(weight / top),
        "font-size": SIZE,
        "font-weight": key ? 700 : 400,
      });
      const under =
        key &&
        svg("path", {
          d: `M${x + PAD} ${row * LINE + LINE - 3}h${wide - 2 * PAD}`,
          stroke: colours.picked,
          "stroke-width": 2.4,
        });
      const group = svg("g", { "data-word": text }, box, word, under);
      group.addEventListener("pointermove", (event) =>
        tip(event, [visible(text), `receives ${(100 * weight).toFixed(2)} %${key ? ", of a keyphrase" : ""}`]),
      );
      group.addEventListener("pointerleave", (event) => tip(event, null));
      root.append(group);
      x += wide + GAP;
    }
    const height = (row + 1) * LINE + 4;
    return svg(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        role: "img",
        "aria-label": "Words shaded by the attention they receive",
      },
      root,
    );
  }

  function summary(words) {
    const name = `Head ${atlas.heads.name(store.shown.head)}`;
    const [key, other] = [true, false].map((wanted) => words.filter((word) => word.key === wanted));
    const mean = (list) => (100 * list.reduce((sum, { weight }) => sum + weight, 0)) / Math.max(1, list.length);
    if (!key.length) return `${name}: the darker a word, the more attention it receives.`;
    return `${name}: a word of a keyphrase (underlined) receives ${mean(key).toFixed(2)} % on average, another ${mean(other).toFixed(2)} %.`;
  }

  return {
    node,
    update(_shown, changed) {
      if (!atlas.examples.length) {
        verdict.textContent = ABSENT;
        return undefined;
      }
      if (!["view", "example", "unit", "head", "theme", "size"].some((name) => changed.has(name))) return undefined;
      drawControls();
      return draw();
    },
  };
}
