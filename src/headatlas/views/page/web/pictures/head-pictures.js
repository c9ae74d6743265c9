/** One head on one example: lines and matrix, the gold tree or mentions beside them, and a sentence that sums up. */

import { divide, mentionVerdicts, tokenMap, treeVerdicts, unitMap } from "../data/attention.js";
import { percent } from "../data/frames.js";
import { DIRECTIONS, betterDirection } from "../data/head-facts.js";
import { element, visible } from "../dom.js";
import { savers } from "../saving.js";
import { emptyGutter, mentionGutter, treeGutter } from "./gold.js";
import { linesPicture, wordSize } from "./lines.js";
import { matrixPicture } from "./matrix.js";

const MOST_SAID = 4; // words named when one is pointed at
const LEAST_SAID = 0.005; // weight of a word that is named

/**
 * @typedef {{example: Example, units: Unit[], weight: (from: number, to: number) => number,
 *            rowOf: (word: number) => number, tree: TreeVerdict[], mentions: MentionVerdict[]}} Scene
 */

/**
 * @param {Context} context of all views
 * @param {() => Promise<Example>|Example} currentExample the example to draw, its maps unpacked
 * @param {() => string} currentName what it is called, as in "example 3"
 */
export function headPictures({ atlas, store, palette, size }, currentExample, currentName) {
  const verdict = element("p", { class: "verdict", "aria-live": "polite" });
  const stage = element("div", { class: "stage pair" });
  /** @type {{node: SVGElement, draw: (focus: Focus) => void}[]} */
  let pictures = [];
  /** @type {Scene|null} */
  let scene = null;
  let turn = 0;

  const headName = () => atlas.heads.name(store.shown.head);

  /** @param {string} what @param {number} place */
  function pictureSavers(what, place) {
    const name = () => `${what.toLowerCase()}-head-${headName()}-${currentName().replaceAll(" ", "-")}`;
    return savers(
      name,
      () => pictures[place].node,
      () => palette().paper,
      what,
    );
  }

  /** Which of the two words attends, for right and wrong. @returns {keyof DIRECTIONS} */
  function direction() {
    const { direction: chosen, head } = store.shown;
    return /** @type {keyof DIRECTIONS} */ (chosen in DIRECTIONS ? chosen : betterDirection(atlas, head));
  }

  /** What both pictures are drawn from. @param {Example} example @returns {Scene} */
  function compose(example) {
    const { head, unit, special } = store.shown;
    const { tokens, maps, predictions } = example;
    const division = divide(example, unit, atlas.content.special.unk);
    const weights = tokenMap(maps, head, tokens.length);
    const map = unit === "words" ? unitMap(weights, tokens.length, division, atlas.content.words_from) : weights;
    const all = division.units.length;
    const places = division.units
      .map((_, place) => place)
      .filter((place) => special || division.units[place].word >= 0);
    const units = places.map((place) => division.units[place]);
    /** @type {Map<number, number>} */
    const firstRow = new Map();
    units.forEach(({ word }, row) => word >= 0 && !firstRow.has(word) && firstRow.set(word, row));
    const { tree, mentions, antecedents } = example;
    return {
      example,
      units,
      weight: (from, to) => map[places[from] * all + places[to]],
      rowOf: (word) => firstRow.get(word) ?? -1,
      tree: tree && predictions ? treeVerdicts(tree, predictions, head, direction()) : [],
      mentions: mentions && predictions ? mentionVerdicts(mentions, antecedents ?? [], predictions, head) : [],
    };
  }

  /** The gold pairs in the matrix. @param {Scene} scene */
  function marks({ tree, mentions, rowOf }) {
    const across = direction() === "dependent_to_head";
    const pairs = [
      ...tree.map(({ word, head, right }) => ({ from: across ? word : head, to: across ? head : word, right })),
      ...mentions.map(({ word, gold, predicted, right }) => {
        return { from: word, to: right ? predicted : gold[gold.length - 1], right };
      }),
    ];
    return pairs
      .map(({ from, to, right }) => ({ from: rowOf(from), to: rowOf(to), right }))
      .filter(({ from, to }) => from >= 0 && to >= 0);
  }

  async function draw() {
    const started = (turn += 1);
    const example = await currentExample();
    if (started !== turn) return; // a newer drawing has begun
    const composed = compose(example);
    scene = composed;
    const { units, weight, rowOf } = composed;
    const colours = palette();
    const { width, height } = size();
    const row = Math.max(14, Math.min(width > 1200 ? 34 : 26, (height - 90) / units.length));
    const between = Math.max(110, Math.min(220, width * 0.16));
    /** @param {number} place */
    const middle = (place) => 4 + place * row + row / 2;
    const layout = { rowOf, middle, row, size: wordSize(row), colours };
    const gutter = example.tree
      ? treeGutter(composed.tree, example.tree.heads.indexOf(-1), layout)
      : example.mentions
        ? mentionGutter(example.mentions, composed.mentions, layout)
        : emptyGutter();
    const keys = "up and down choose a word, left and right its side, Escape none";
    const label = `Head ${headName()} on ${currentName()}: ${keys}`;
    /** @param {Focus} focus */
    const point = (focus) => focusOn(focus ?? store.shown.pinned);
    /** @param {Focus} focus */
    const pin = (focus) => {
      const { pinned } = store.shown;
      const same = focus && pinned?.side === focus.side && pinned.place === focus.place;
      store.change({ pinned: same ? null : focus });
    };
    const lines = linesPicture({ units, weight, row, between, colours, gutter, label, point, pin });
    const space = width - Number(lines.node.getAttribute("width")) - 64;
    const frames = marks(composed);
    pictures = [lines, matrixPicture({ units, weight, space, tallest: row, colours, marks: frames, point, pin })];
    lines.node.addEventListener("keydown", (event) => moveFocus(event, units.length));
    const focused = stage.contains(document.activeElement);
    stage.replaceChildren(...pictures.map((picture) => picture.node));
    if (focused) lines.node.focus();
    focusOn(store.shown.pinned);
  }

  /** @param {KeyboardEvent} event @param {number} length */
  function moveFocus(event, length) {
    const { side, place } = store.shown.pinned ?? { side: "from", place: event.key === "ArrowUp" ? length : -1 };
    /** @type {Record<string, Focus>} */
    const moves = {
      ArrowDown: { side, place: Math.min(length - 1, place + 1) },
      ArrowUp: { side, place: Math.max(0, place - 1) },
      ArrowRight: { side: "to", place: Math.max(0, place) },
      ArrowLeft: { side: "from", place: Math.max(0, place) },
      Escape: null,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    store.change({ pinned: moves[event.key] });
  }

  /** @param {Focus} wanted */
  function focusOn(wanted) {
    if (!scene) return;
    const { units, weight } = scene;
    const focus = wanted && wanted.place < units.length ? wanted : null;
    for (const picture of pictures) picture.draw(focus);
    if (!focus) {
      verdict.replaceChildren(...summary(scene));
      return;
    }
    const attends = focus.side === "from";
    const others = units
      .map(({ text }, place) => ({ text, share: attends ? weight(focus.place, place) : weight(place, focus.place) }))
      .sort((a, b) => b.share - a.share)
      .slice(0, MOST_SAID)
      .filter(({ share }) => share >= LEAST_SAID)
      .map(({ text, share }) => `${visible(text)} ${percent(share)}`);
    const word = visible(units[focus.place].text);
    verdict.textContent = `“${word}” ${attends ? "attends to" : "is attended to by"} ${others.join(", ")}`;
  }

  /** @param {Scene} scene */
  function summary({ example, tree, mentions }) {
    const verdicts = [...tree, ...mentions];
    const right = verdicts.filter((verdict) => verdict.right).length;
    const score = element("strong", { text: `${right} of ${verdicts.length}` });
    if (example.tree) {
      const how = `${DIRECTIONS[direction()]}). Arcs are gold dependencies, dashed if the head misses them.`;
      return [`Head ${headName()} finds the head of `, score, ` words here (${how}`];
    }
    if (example.mentions) {
      const how = " mentions here. Bars are mentions, coloured by entity; dashed arcs are missed.";
      return [`Head ${headName()} finds an antecedent for `, score, how];
    }
    const how = "lines run from the words that attend, on the left, to the words they attend to.";
    return [`Head ${headName()}: ${how} Point at a word to single it out; click to keep it.`];
  }

  return {
    stage,
    verdict,
    /** Buttons that save either picture. */
    savers: () => [pictureSavers("Lines", 0), pictureSavers("Matrix", 1)],
    draw,
    /** Draw the lines of one word before all others, or of all alike. */
    focusOn,
  };
}
