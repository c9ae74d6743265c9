/** Beside the words: the gold tree or the gold mentions, and whether the head finds them. */

import { FONT, fitted, svg, textWidth } from "../dom.js";

const WIDEST_RELATION = 84;
const NO_GUTTER = 6;
const MENTION_ARCS = 66;
const SMALL = 0.84; // size of labels beside that of words

/**
 * @typedef {{rowOf: (word: number) => number, middle: (row: number) => number, row: number, size: number,
 *            colours: Palette}} Layout
 *   `rowOf` gives the row of a word, -1 if it is not shown; `middle` the height of a row's middle; `row` the height of
 *   a row; `size` that of its letters
 */

/** Nothing to show. */
export function emptyGutter() {
  return { width: NO_GUTTER, node: svg("g") };
}

/**
 * Arcs from each word to its head, with the relation and whether the attention head finds it.
 * @param {TreeVerdict[]} verdicts
 * @param {number} root the word without a head, or -1
 * @param {Layout} layout
 */
export function treeGutter(verdicts, root, { rowOf, middle, size, colours }) {
  const shown = verdicts.filter(({ word, head }) => rowOf(word) >= 0 && rowOf(head) >= 0);
  const small = size * SMALL;
  const widths = shown.map(({ relation }) => Math.min(WIDEST_RELATION, textWidth(relation, small)));
  const labels = Math.max(20, ...widths) + 18;
  const deepest = Math.max(1, ...shown.map(({ word, head }) => Math.abs(rowOf(word) - rowOf(head))));
  const arcs = Math.min(96, 26 + 9 * deepest);
  const node = svg("g", { "font-size": small, "font-family": FONT });
  for (const { word, head, relation, right } of shown) {
    const [from, to] = [middle(rowOf(word)), middle(rowOf(head))];
    const far = Math.abs(rowOf(word) - rowOf(head));
    const bulge = arcs - 6 - (arcs - 18) * (Math.log1p(far) / Math.log1p(deepest));
    const base = from + small * 0.35;
    const text = fitted(relation, small, WIDEST_RELATION);
    node.append(
      ...arc(arcs, bulge, from, to, right, colours, right ? 0.95 : 0.7),
      tick(arcs + 7, base, right, colours),
      svg("text", { x: arcs + 20, y: base, fill: colours.faint, text }),
    );
  }
  if (rowOf(root) >= 0) {
    const place = { x: arcs + 20, y: middle(rowOf(root)) + small * 0.35 };
    node.append(svg("text", { ...place, fill: colours.faint, "font-style": "italic", text: "root" }));
  }
  return { width: arcs + labels + 8, node };
}

/**
 * A bar for each mention in the colour of its entity, and an arc to the antecedent that the head finds.
 * @param {Mention[]} mentions @param {MentionVerdict[]} verdicts @param {Layout} layout
 */
export function mentionGutter(mentions, verdicts, { rowOf, middle, row, size, colours }) {
  const entities = [...new Set(verdicts.map(({ mention }) => mentions[mention].entity))];
  const chained = mentions.filter(({ entity }) => entities.includes(entity));
  const node = svg("g", { "font-size": size * SMALL, "font-family": FONT });
  /** @type {Map<Mention, number>} */
  const depth = new Map();
  chained.forEach((mention, place) => {
    const around = chained.slice(0, place).filter((other) => other.end > mention.start);
    const taken = new Set(around.map((other) => depth.get(other)));
    let level = 0;
    while (taken.has(level)) level += 1;
    depth.set(mention, level);
    const rows = [];
    for (let word = mention.start; word < mention.end; word += 1) if (rowOf(word) >= 0) rows.push(rowOf(word));
    if (!rows.length) return;
    const [first, last] = [Math.min(...rows), Math.max(...rows)];
    node.append(
      svg("rect", {
        x: MENTION_ARCS + 22 + 7 * level,
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
    const to = rowOf(right ? predicted : gold[gold.length - 1]);
    if (from < 0) continue;
    if (to >= 0) {
      const [start, end] = [middle(from), middle(to)];
      const bulge = Math.max(4, MENTION_ARCS - 14 - Math.abs(start - end) * 0.55);
      node.append(...arc(MENTION_ARCS, bulge, start, end, right, colours, 1));
    }
    node.append(tick(MENTION_ARCS + 6, middle(from) + size * 0.3, right, colours));
  }
  const levels = Math.max(1, ...[...depth.values()].map((level) => level + 1));
  return { width: MENTION_ARCS + 26 + 7 * levels, node };
}

/**
 * @param {number} x @param {number} bulge @param {number} from @param {number} to @param {boolean} right
 * @param {Palette} colours @param {number} opacity
 */
function arc(x, bulge, from, to, right, colours, opacity) {
  const colour = right ? colours.right : colours.wrong;
  return [
    svg("path", {
      d: `M${x} ${from}C${bulge} ${from} ${bulge} ${to} ${x} ${to}`,
      fill: "none",
      stroke: colour,
      "stroke-width": right ? 1.8 : 1.2,
      "stroke-dasharray": right ? null : "3 3",
      "stroke-opacity": opacity,
    }),
    svg("circle", { cx: x, cy: to, r: 2.2, fill: colour }),
  ];
}

/** @param {number} x @param {number} y @param {boolean} right @param {Palette} colours */
function tick(x, y, right, colours) {
  const fill = right ? colours.right : colours.wrong;
  return svg("text", { x, y, fill, text: right ? "✓" : "×", "font-weight": 700 });
}
