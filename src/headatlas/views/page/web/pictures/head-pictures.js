/**
 * One head or several on one example: lines and matrix, the gold tree or mentions beside them, and a sentence that sums
 * up.
 */

import { divide, mentionVerdicts, tokenMap, treeVerdicts, unitMap } from "../data/attention.js";
import { percent } from "../data/frames.js";
import { DIRECTIONS, betterDirection } from "../data/head-facts.js";
import { headsShown } from "../data/several.js";
import { LEAST_LEFT, isSink, withoutSink } from "../data/sink.js";
import { element, visible } from "../dom.js";
import { savers } from "../saving.js";
import { emptyGutter, mentionGutter, treeGutter } from "./gold.js";
import { headColours } from "./head-colours.js";
import { NARROW, linesPicture, wordSize } from "./lines.js";
import { matrixPicture } from "./matrix.js";

const MOST_SAID = 4; // words named when one is pointed at
const VERBS = {
  one: ["attends to", "is attended to by"],
  several: ["together attend to", "are together attended to by"],
};
const MOST_HEADS = 4; // heads named in a sentence
const LEAST_BESIDE = 240; // pixels for the matrix beside the lines
const LEAST_SAID = 0.005; // weight of a word that is named

/**
 * @typedef {import("./lines.js").Weight} Weight
 * @typedef {{example: Example, heads: number[], units: Unit[], weights: Weight[], mean: Weight, empty: Set<number>,
 *            shares: number[], rowOf: (word: number) => number, tree: TreeVerdict[], mentions: MentionVerdict[]}} Scene
 *   `weights` of each head and their `mean`; `empty` are rows without attention; `shares` of the sink, if left out
 */

/**
 * @param {Context} context of all views
 * @param {() => Promise<Example>|Example} currentExample the example to draw, its maps unpacked
 * @param {() => string} currentName what it is called, as in "example 3"
 */
export function headPictures({ atlas, store, palette, size }, currentExample, currentName) {
  const verdict = element("p", { class: "verdict", "aria-live": "polite" });
  const note = element("p", { class: "remark sink-note", role: "status" });
  const stage = element("div", { class: "stage pair" });
  /** @type {{node: SVGElement, draw: (focuses: NonNullable<Focus>[]) => void}[]} */
  let pictures = [];
  /** @type {Scene|null} */
  let scene = null;
  let turn = 0;

  const shownHeads = () => headsShown(atlas.heads, store.shown);
  /** What the heads are called, as in "Heads 3-1 and 3-4". */
  function headName() {
    const names = shownHeads().map((head) => atlas.heads.name(head));
    if (names.length === 1) return `Head ${names[0]}`;
    if (store.shown.several === "layer") return `All ${names.length} heads of layer ${names[0].split("-")[0]}`;
    if (names.length > MOST_HEADS) return `${names.length} heads`;
    return `Heads ${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
  }

  /** @param {string} what @param {number} place */
  function pictureSavers(what, place) {
    const name = () => `${what}-${headName()}-${currentName()}`.toLowerCase().replaceAll(/[ ,]+/g, "-");
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
    const { head, unit, sink } = store.shown;
    const { tokens, maps, predictions } = example;
    const heads = shownHeads();
    const division = divide(example, unit, atlas.content.special.unk);
    const all = division.units.length;
    const whole = heads.map((index) => {
      const weights = tokenMap(maps, index, tokens.length);
      return unit === "words" ? unitMap(weights, tokens.length, division, atlas.content.words_from) : weights;
    });
    const left = sink ? [] : whole.map((map) => withoutSink(map, division.units));
    const places = division.units.map((_, place) => place).filter((place) => sink || !isSink(division.units[place]));
    const units = places.map((place) => division.units[place]);
    const weights = (sink ? whole : left.map(({ map }) => map)).map((map) => {
      return (/** @type {number} */ from, /** @type {number} */ to) => map[places[from] * all + places[to]];
    });
    /** @type {Map<number, number>} */
    const firstRow = new Map();
    units.forEach(({ word }, row) => word >= 0 && !firstRow.has(word) && firstRow.set(word, row));
    const { tree, mentions, antecedents } = example;
    const gold = heads.length === 1 && predictions;
    return {
      example,
      heads,
      units,
      weights,
      mean: (from, to) => weights.reduce((sum, weight) => sum + weight(from, to), 0) / weights.length,
      empty: new Set(sink ? [] : [...units.keys()].filter((row) => left.every(({ empty }) => empty.has(places[row])))),
      shares: left.map(({ share }) => share),
      rowOf: (word) => firstRow.get(word) ?? -1,
      tree: tree && gold ? treeVerdicts(tree, gold, head, direction()) : [],
      mentions: mentions && gold ? mentionVerdicts(mentions, antecedents ?? [], gold, head) : [],
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
    const { heads, units, weights, mean, empty, rowOf } = composed;
    const alone = heads.length === 1;
    note.textContent = sinkNote(composed);
    if (!units.length) {
      pictures = [];
      stage.replaceChildren();
      return;
    }
    const colours = palette();
    const { width, height } = size();
    const row = Math.max(14, Math.min(width > 1200 ? 34 : 26, (height - 90) / units.length));
    const room = stage.clientWidth - 30;
    const between = Math.max(room < NARROW ? 80 : 110, Math.min(220, room * 0.16));
    /** @param {number} place */
    const middle = (place) => 4 + place * row + row / 2;
    const layout = { rowOf, middle, row, size: wordSize(row), colours };
    const gutter =
      alone && example.tree
        ? treeGutter(composed.tree, example.tree.heads.indexOf(-1), layout)
        : alone && example.mentions
          ? mentionGutter(example.mentions, composed.mentions, layout)
          : emptyGutter();
    const keys = "up and down choose a word, with Shift one more, left and right its side, Escape none";
    const label = `${headName()} on ${currentName()}: ${keys}`;
    /** @param {Focus} focus */
    const point = (focus) => focusOn(focus ? [focus] : store.shown.pinned);
    /** @param {Focus} focus */
    const pin = (focus) => {
      const others = store.shown.pinned.filter(({ side, place }) => side !== focus?.side || place !== focus.place);
      const added = focus && others.length === store.shown.pinned.length;
      store.change({ pinned: focus ? [...others, ...(added ? [focus] : [])] : [] });
    };
    const bands = headColours(colours, heads.length).map((colour, place) => ({ colour, weight: weights[place] }));
    const lines = linesPicture({ units, bands, empty, row, between, room, colours, gutter, label, point, pin });
    const beside = width - Number(lines.node.getAttribute("width")) - 64;
    const space = beside < LEAST_BESIDE ? room : beside; // else it stands below
    const of = alone ? "The same weights" : `The mean of ${heads.length} heads`;
    const matrix = matrixPicture({
      units,
      weight: mean,
      space,
      tallest: row,
      colours,
      marks: alone ? marks(composed) : [],
      label: `${of} as a matrix: rows attend to columns`,
      point,
      pin,
    });
    pictures = [lines, matrix];
    lines.node.addEventListener("keydown", (event) => moveFocus(event, units.length));
    const focused = stage.contains(document.activeElement);
    stage.replaceChildren(...pictures.map((picture) => picture.node));
    if (focused) lines.node.focus();
    focusOn(store.shown.pinned);
  }

  /** What was left out with the sink. @param {Scene} scene */
  function sinkNote({ shares, empty, units }) {
    if (store.shown.sink) return "";
    if (!units.length) return "This text has nothing but the sink: its first token and special tokens.";
    const share = shares.reduce((sum, value) => sum + value, 0) / shares.length;
    const whose = shares.length === 1 ? "this head's attention" : "these heads' attention";
    const few = percent(LEAST_LEFT);
    const left = empty.size === 1 ? `One word with under ${few} left is grey.` : "";
    const several = empty.size > 1 ? `${empty.size} words with under ${few} left are grey.` : "";
    const taken = `Without the sink: the first token and special tokens, which take ${percent(share)} of ${whose} here`;
    return `${taken}, are left out, and the rest of each row is scaled to its whole. ${left}${several}`;
  }

  /** @param {KeyboardEvent} event @param {number} length */
  function moveFocus(event, length) {
    const { pinned } = store.shown;
    const last = { side: "from", place: event.key === "ArrowUp" ? length : -1 };
    const { side, place } = pinned[pinned.length - 1] ?? last;
    /** @type {Record<string, NonNullable<Focus>[]>} */
    const moves = {
      ArrowDown: [{ side, place: Math.min(length - 1, place + 1) }],
      ArrowUp: [{ side, place: Math.max(0, place - 1) }],
      ArrowRight: [{ side: "to", place: Math.max(0, place) }],
      ArrowLeft: [{ side: "from", place: Math.max(0, place) }],
      Escape: [],
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation();
    store.change({ pinned: event.shiftKey ? [...pinned, ...moves[event.key]] : moves[event.key] });
  }

  /** @param {NonNullable<Focus>[]} wanted */
  function focusOn(wanted) {
    if (!scene) return;
    const { units, mean, heads } = scene;
    const focuses = wanted.filter(({ place }) => place < units.length);
    for (const picture of pictures) picture.draw(focuses);
    if (!focuses.length) {
      verdict.replaceChildren(...summary(scene));
      return;
    }
    const said = ["from", "to"].flatMap((side) => {
      const places = [...new Set(focuses.filter((focus) => focus.side === side).map(({ place }) => place))];
      if (!places.length) return [];
      const others = units
        .map(({ text }, other) => {
          const share = places.reduce((sum, one) => sum + (side === "from" ? mean(one, other) : mean(other, one)), 0);
          return { text, share };
        })
        .sort((a, b) => b.share - a.share)
        .slice(0, MOST_SAID)
        .filter(({ share }) => share >= LEAST_SAID)
        .map(({ text, share }) => `${visible(text)} ${percent(share)}`);
      const words = places.map((place) => `“${visible(units[place].text)}”`).join(", ");
      const verbs = VERBS[places.length > 1 ? "several" : "one"];
      return [`${words} ${verbs[side === "from" ? 0 : 1]} ${others.join(", ") || "nothing"}`];
    });
    verdict.textContent = said.join("; ") + (heads.length > 1 ? ` (mean of ${heads.length} heads)` : "");
  }

  /** @param {Scene} scene */
  function summary({ example, heads, tree, mentions }) {
    const verdicts = [...tree, ...mentions];
    const right = verdicts.filter((verdict) => verdict.right).length;
    const score = element("strong", { text: `${right} of ${verdicts.length}` });
    if (heads.length > 1) {
      return [`${headName()}, a colour each; the matrix is their mean. Click words to add up what they attend to.`];
    }
    if (example.tree) {
      const how = `${DIRECTIONS[direction()]}). Arcs are gold dependencies, dashed if the head misses them.`;
      return [`${headName()} finds the head of `, score, ` words here (${how}`];
    }
    if (example.mentions) {
      const how = " mentions here. Bars are mentions, coloured by entity; dashed arcs are missed.";
      return [`${headName()} finds an antecedent for `, score, how];
    }
    const how = "lines run from the words that attend, on the left, to the words they attend to.";
    return [`${headName()}: ${how} Point at a word to single it out; click to keep it, and others with it.`];
  }

  return {
    stage,
    verdict,
    /** Says what was left out with the sink. */
    note,
    /** Buttons that save either picture. */
    savers: () => [pictureSavers("Lines", 0), pictureSavers("Matrix", 1)],
    draw,
    /** Draw the lines of some words before all others, or of all alike. */
    focusOn,
  };
}
