/** Beside the words: the gold tree or the gold mentions, and whether the head finds them. */

import { FONT, fitted, svg, textWidth } from "../dom.js";

const WIDEST_RELATION = 84;
const NO_GUTTER = 6;

/** Nothing to show. */
export function emptyGutter() {
  return { width: NO_GUTTER, node: svg("g") };
}

/**
 * Arcs from each word to its head, with the relation and whether the head finds it.
 * @param {{right: boolean, word: number, head: number, relation: string}[]} verdicts
 * @param {number} root the word without a head, -1 where there is none
 * @param {(word: number) => number} rowOf place of a word among the rows, -1 where it is not shown
 */
export function treeGutter(verdicts, root, rowOf, middle, size, colours) {
  const shown = verdicts.filter(({ word, head }) => rowOf(word) >= 0 && rowOf(head) >= 0);
  const small = size * 0.84;
  const labels =
    Math.max(20, ...shown.map(({ relation }) => Math.min(WIDEST_RELATION, textWidth(relation, small)))) + 18;
  const deepest = Math.max(1, ...shown.map(({ word, head }) => Math.abs(rowOf(word) - rowOf(head))));
  const arcs = Math.min(96, 26 + 9 * deepest);
  const node = svg("g", { "font-size": small, "font-family": FONT });
  for (const { word, head, relation, right } of shown) {
    const [from, to] = [middle(rowOf(word)), middle(rowOf(head))];
    const far = Math.abs(rowOf(word) - rowOf(head));
    const bulge = arcs - 6 - (arcs - 18) * (Math.log1p(far) / Math.log1p(deepest));
    const colour = right ? colours.right : colours.wrong;
    node.append(
      svg("path", {
        d: `M${arcs} ${from}C${bulge} ${from} ${bulge} ${to} ${arcs} ${to}`,
        fill: "none",
        stroke: colour,
        "stroke-width": right ? 1.8 : 1.2,
        "stroke-dasharray": right ? null : "3 3",
        "stroke-opacity": right ? 0.95 : 0.7,
      }),
      svg("circle", { cx: arcs, cy: to, r: 2.2, fill: colour }),
      svg("text", { x: arcs + 7, y: from + small * 0.35, fill: colour, text: right ? "✓" : "×", "font-weight": 700 }),
      svg("text", {
        x: arcs + 20,
        y: from + small * 0.35,
        fill: colours.faint,
        text: fitted(relation, small, WIDEST_RELATION),
      }),
    );
  }
  if (rowOf(root) >= 0) {
    node.append(
      svg("text", {
        x: arcs + 20,
        y: middle(rowOf(root)) + small * 0.35,
        fill: colours.faint,
        "font-style": "italic",
        text: "root",
      }),
    );
  }
  return { width: arcs + labels + 8, node };
}

/** A bar for each mention in the colour of its entity, and an arc to the antecedent that the head finds. */
export function mentionGutter(mentions, verdicts, rowOf, middle, row, size, colours) {
  const entities = [...new Set(verdicts.flatMap(({ mention }) => mentions[mention].entity))];
  const chained = mentions.filter(({ entity }) => entities.includes(entity));
  const node = svg("g", { "font-size": size * 0.84, "font-family": FONT });
  const arcs = 66;
  const depth = new Map();
  chained.forEach((mention, place) => {
    const inside = chained.slice(0, place).filter((other) => other.end > mention.start);
    const taken = new Set(inside.map((other) => depth.get(other)));
    let level = 0;
    while (taken.has(level)) level += 1;
    depth.set(mention, level);
    const rows = [];
    for (let word = mention.start; word < mention.end; word += 1) if (rowOf(word) >= 0) rows.push(rowOf(word));
    if (!rows.length) return;
    const [first, last] = [Math.min(...rows), Math.max(...rows)];
    node.append(
      svg("rect", {
        x: arcs + 22 + 7 * level,
        y: middle(first) - row / 2 + 2,
        width: 4,
        height: (last - first + 1) * row - 4,
        rx: 2,
        fill: colours.kind(entities.indexOf(mention.entity)),
      }),
    );
  });
  for (const { word, gold, predicted, right } of verdicts) {
    const from = rowOf(word);
    const nearest = gold[gold.length - 1];
    const ends = right ? [[predicted, true]] : [[nearest, false]];
    for (const [end, found] of ends) {
      if (from < 0 || rowOf(end) < 0) continue;
      const colour = found ? colours.right : colours.wrong;
      const [y, to] = [middle(from), middle(rowOf(end))];
      const bulge = Math.max(4, arcs - 14 - Math.abs(y - to) * 0.55);
      node.append(
        svg("path", {
          d: `M${arcs} ${y}C${bulge} ${y} ${bulge} ${to} ${arcs} ${to}`,
          fill: "none",
          stroke: colour,
          "stroke-width": found ? 1.8 : 1.2,
          "stroke-dasharray": found ? null : "3 3",
        }),
        svg("circle", { cx: arcs, cy: to, r: 2.2, fill: colour }),
      );
    }
    node.append(
      svg("text", {
        x: arcs + 6,
        y: middle(from) + size * 0.3,
        fill: right ? colours.right : colours.wrong,
        text: right ? "✓" : "×",
        "font-weight": 700,
      }),
    );
  }
  const levels = Math.max(1, ...[...depth.values()].map((level) => level + 1));
  return { width: arcs + 26 + 7 * levels, node };
}
