/** One head on one example, drawn: lines and matrix, the gold tree or mentions beside them, and a sentence that sums up. */

import { mentionVerdicts, tokenMap, tokenUnits, treeVerdicts, unitMap, wordUnits } from "../data/attention.js";
import { element, visible } from "../dom.js";
import { emptyGutter, mentionGutter, treeGutter } from "./gold.js";
import { linesPicture, wordSize } from "./lines.js";
import { matrixPicture } from "./matrix.js";
import { savers } from "../saving.js";

export const WAYS = { dependent_to_head: "dependent → head", head_to_dependent: "head → dependent" };
const MOST_SAID = 4; // words named when one is pointed at

/**
 * @param {object} context of all views
 * @param {() => Promise<object>|object} exampleNow the example to draw, its maps unpacked
 * @param {() => string} nameNow what it is called, as in "example 3"
 */
export function headPictures({ atlas, store, palette, room }, exampleNow, nameNow) {
  const verdict = element("p", { class: "verdict", "aria-live": "polite" });
  const stage = element("div", { class: "stage pair" });
  const pictureSavers = (what, place) => {
    const name = () =>
      `${what.toLowerCase()}-head-${atlas.heads.name(store.shown.head)}-${nameNow().replaceAll(" ", "-")}`;
    return savers(
      name,
      () => pictures[place].node,
      () => palette().paper,
      what,
    );
  };
  let pictures = [];
  let scene = null;
  let turn = 0;

  /**
   * Which of the two attends when right and wrong are told. If so asked, the better way: that of a relation at which no
   * head is better, else that in which the head is right more often.
   */
  function direction() {
    const { shown } = store;
    if (shown.direction in WAYS) return shown.direction;
    const { layer, head } = atlas.heads.at(shown.head);
    for (const [relation, best] of atlas.best) {
      if (!relation.startsWith("all") && best.layer === layer && best.head === head) return best.direction;
    }
    const right = (way) => atlas.measureOf.get(`dependencies/all_but_root/${way}`)?.values[shown.head] ?? 0;
    return right("head_to_dependent") > right("dependent_to_head") ? "head_to_dependent" : "dependent_to_head";
  }

  /** What both pictures are drawn from. */
  function compose(example) {
    const { shown } = store;
    const division = shown.unit === "words" ? wordUnits(example, atlas.content.special.unk) : tokenUnits(example);
    const weights = tokenMap(example.maps, shown.head, example.tokens.length);
    const map =
      shown.unit === "words" ? unitMap(weights, example.tokens.length, division, atlas.content.words_from) : weights;
    const all = division.units.length;
    const kept = division.units
      .map((_, place) => place)
      .filter((place) => shown.special || division.units[place].word >= 0);
    const units = kept.map((place) => division.units[place]);
    const firstRow = new Map();
    units.forEach(({ word }, row) => word >= 0 && !firstRow.has(word) && firstRow.set(word, row));
    const rowOf = (word) => firstRow.get(word) ?? -1;
    const verdicts = example.tree
      ? treeVerdicts(example.tree, example.predictions, shown.head, direction())
      : example.mentions
        ? mentionVerdicts(example.mentions, example.antecedents, example.predictions, shown.head)
        : [];
    return { example, units, weight: (from, to) => map[kept[from] * all + kept[to]], rowOf, verdicts };
  }

  function marks() {
    const { example, verdicts, rowOf } = scene;
    const across = direction() === "dependent_to_head";
    const pairs = example.tree
      ? verdicts.map(({ word, head, right }) => ({ from: across ? word : head, to: across ? head : word, right }))
      : verdicts.map(({ word, gold, predicted, right }) => ({
          from: word,
          to: right ? predicted : gold[gold.length - 1],
          right,
        }));
    return pairs
      .map(({ from, to, right }) => ({ from: rowOf(from), to: rowOf(to), right }))
      .filter(({ from, to }) => from >= 0 && to >= 0);
  }

  async function draw() {
    const mine = (turn += 1);
    const example = await exampleNow();
    if (mine !== turn) return;
    scene = compose(example);
    const { units, weight, verdicts, rowOf } = scene;
    const colours = palette();
    const { width, height } = room();
    const row = Math.max(14, Math.min(width > 1200 ? 34 : 26, (height - 90) / units.length));
    const between = Math.max(110, Math.min(220, width * 0.16));
    const middle = (place) => 4 + place * row + row / 2;
    const size = wordSize(row);
    const gutter = example.tree
      ? treeGutter(verdicts, example.tree.heads.indexOf(-1), rowOf, middle, size, colours)
      : example.mentions
        ? mentionGutter(example.mentions, verdicts, rowOf, middle, row, size, colours)
        : emptyGutter();
    const name = `Head ${atlas.heads.name(store.shown.head)}`;
    const point = (focus) => focusOn(focus ?? store.shown.pinned);
    const pin = (focus) => {
      const same = focus && store.shown.pinned?.side === focus.side && store.shown.pinned.place === focus.place;
      store.change({ pinned: same ? null : focus });
    };
    const label = `${name} on ${nameNow()}: up and down choose a word, left and right its side, Escape none`;
    const lines = linesPicture({ units, weight, row, between, colours, gutter, label, point, pin });
    const space = width - Number(lines.node.getAttribute("width")) - 64;
    pictures = [lines, matrixPicture({ units, weight, space, tallest: row, colours, marks: marks(), point, pin })];
    pictures[0].node.addEventListener("keydown", keys);
    const focused = stage.contains(document.activeElement);
    stage.replaceChildren(...pictures.map((picture) => picture.node));
    if (focused) pictures[0].node.focus();
    focusOn(store.shown.pinned);
  }

  function keys(event) {
    const { pinned } = store.shown;
    const now = pinned ?? { side: "from", place: event.key === "ArrowUp" ? scene.units.length : -1 };
    const moves = {
      ArrowDown: { ...now, place: Math.min(scene.units.length - 1, now.place + 1) },
      ArrowUp: { ...now, place: Math.max(0, now.place - 1) },
      ArrowRight: { ...now, place: Math.max(0, now.place), side: "to" },
      ArrowLeft: { ...now, place: Math.max(0, now.place), side: "from" },
      Escape: null,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    store.change({ pinned: moves[event.key] });
  }

  function focusOn(wanted) {
    if (!scene) return;
    const { example, units, weight, verdicts } = scene;
    const focus = wanted && wanted.place < units.length ? wanted : null;
    for (const picture of pictures) picture.draw(focus);
    if (!focus) {
      verdict.replaceChildren(...summary(example, verdicts));
      return;
    }
    const away = focus.side === "from";
    const others = units
      .map(({ text }, place) => [text, away ? weight(focus.place, place) : weight(place, focus.place)])
      .sort((a, b) => b[1] - a[1])
      .slice(0, MOST_SAID)
      .filter(([, share]) => share >= 0.005)
      .map(([text, share]) => `${visible(text)} ${(100 * share).toFixed(0)} %`);
    const own = visible(units[focus.place].text);
    verdict.textContent = away
      ? `“${own}” attends to ${others.join(", ")}`
      : `“${own}” is attended to by ${others.join(", ")}`;
  }

  function summary(example, verdicts) {
    const name = `Head ${atlas.heads.name(store.shown.head)}`;
    const right = verdicts.filter((one) => one.right).length;
    if (example.tree) {
      return [
        `${name} finds the head of `,
        element("strong", { text: `${right} of ${verdicts.length}` }),
        ` words here (${WAYS[direction()]}); an arc is a gold dependency, dashed where it is missed.`,
      ];
    }
    if (example.mentions) {
      return [
        `${name} finds an antecedent for `,
        element("strong", { text: `${right} of ${verdicts.length}` }),
        " mentions here; a bar is a mention, its colour the entity, a dashed arc is missed.",
      ];
    }
    return [
      `${name}: lines from the words that attend, on the left, to those attended to. Point at a word, click to hold it.`,
    ];
  }

  return {
    stage,
    verdict,
    /** Buttons that save either picture. */
    savers: () => [pictureSavers("Lines", 0), pictureSavers("Matrix", 1)],
    draw,
    /** Draw the lines of one word before all others; of none where it is null. */
    focusOn,
  };
}
