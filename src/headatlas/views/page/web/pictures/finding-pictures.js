/** A small picture of a finding that shows the number beside what it has to beat. */

import { percent } from "../data/frames.js";
import { relationLeads } from "../data/head-facts.js";
import { fitted, picture, svg, textWidth } from "../dom.js";

const WIDTH = 168;
const EDGE = 4;
const SPACE = WIDTH - 2 * EDGE;
const SMALL = 10.5; // pixels of a letter
const MOST_RELATIONS = 6;

/**
 * @param {Finding} finding @param {Atlas} atlas @param {Palette} colours
 * @returns {SVGElement|null} null if there is no number to show
 */
export function findingPicture(finding, atlas, colours) {
  const { unit, value, most, heads, layers, pair } = finding;
  if (value === null) return null;
  if (layers) return layerLine(finding, layers, colours);
  if (unit === "count" && heads.length > 1) return smallWall(finding, atlas, colours);
  if (unit === "count" && !heads.length) {
    const relations = relationLeads(atlas, finding.study, MOST_RELATIONS);
    if (relations.length > 1) return relationBars(relations, colours);
  }
  const scale = unit === "share" ? 1 : most;
  if (!scale) return null;
  const [name] = heads.length === 1 ? heads : [];
  const share = name ? atlas.roles[atlas.heads.index(...name)]?.share : NaN;
  if (pair) return stacked(finding, scale, colours, 34, (node) => arrow(node, pair, colours));
  if (share > (atlas.content.resting?.least ?? 1)) {
    return stacked(finding, scale, colours, 24, (node) => restingBar(node, share, colours));
  }
  return stacked(finding, scale, colours, 6, () => {});
}

/** @param {number} height */
function canvas(height) {
  return picture({ width: WIDTH, height }, "", { "aria-hidden": "true", "font-size": SMALL, class: "small" });
}

/**
 * A bar with its interval and the rivals, below whatever `above` draws.
 * @param {Finding} finding @param {number} scale the largest value @param {Palette} colours @param {number} top
 * @param {(node: SVGElement) => void} above
 */
function stacked({ value, low, high, unit, rivals }, scale, colours, top, above) {
  const node = canvas(top + 44);
  above(node);
  /** @param {number} number */
  const x = (number) => EDGE + (SPACE * Math.min(number, scale)) / scale;
  /** @param {number} number */
  const written = (number) => (unit === "share" ? percent(number) : String(number));
  const shown = value ?? 0;
  const box = { x: EDGE, y: top, height: 11, rx: 2 };
  node.append(
    svg("rect", { ...box, width: SPACE, fill: colours.empty }),
    svg("rect", { ...box, width: x(shown) - EDGE, fill: colours.accent }),
  );
  if (low !== null && high !== null) {
    const d = `M${x(low)} ${top + 5.5}H${x(high)}M${x(low)} ${top + 2}v7M${x(high)} ${top + 2}v7`;
    node.append(svg("path", { d, stroke: colours.ink, "stroke-width": 1.4 }));
  }
  const known = Object.entries(rivals).filter(([, number]) => number !== null);
  for (const [, number] of known) {
    node.append(svg("path", { d: `M${x(number)} ${top - 3}v17`, stroke: colours.picked, "stroke-width": 2 }));
  }
  const text = written(shown);
  const half = textWidth(text, 12, 700) / 2;
  const middle = Math.min(WIDTH - half, Math.max(half, x(shown)));
  const bold = { "font-size": 12, "font-weight": 700, fill: colours.ink };
  node.append(svg("text", { x: middle, y: top + 26, "text-anchor": "middle", text, ...bold }));
  const [name, number] = known.sort((a, b) => b[1] - a[1])[0] ?? [];
  if (name === undefined || number === undefined) return node;
  const label = fitted(`${name} ${written(number)}`, SMALL, WIDTH - 2);
  const wide = textWidth(label, SMALL);
  const at = Math.max(1, Math.min(x(number) - wide / 2, WIDTH - wide - 1));
  node.append(svg("text", { x: at, y: top + 39, fill: colours.faint, text: label }));
  return node;
}

/** A word that looks at another one. @param {SVGElement} node @param {Pair} pair @param {Palette} colours */
function arrow(node, { from, to, ahead }, colours) {
  const half = SPACE / 2 - 8;
  const [start, end] = ahead ? [WIDTH * 0.26, WIDTH * 0.74] : [WIDTH * 0.74, WIDTH * 0.26];
  const bend = ahead ? 12 : -12;
  for (const [text, x] of /** @type {[string, number][]} */ ([
    [from, start],
    [to, end],
  ])) {
    const at = { x, y: 27, "text-anchor": "middle", "font-size": 12.5, fill: colours.ink, direction: "ltr" };
    node.append(svg("text", { ...at, text: fitted(text, 12.5, half) }));
  }
  const d = `M${start} 14C${start + bend} 1 ${end - bend} 1 ${end} 11`;
  node.append(
    svg("path", { d, fill: "none", stroke: colours.right, "stroke-width": 2.2 }),
    svg("path", { d: `M${end} 15l-4 -7h8z`, fill: colours.right }),
  );
}

/** How much of the head's attention rests. @param {SVGElement} node @param {number} share @param {Palette} colours */
function restingBar(node, share, colours) {
  const box = { y: 2.5, height: 12, rx: 2 };
  node.append(
    svg("rect", { x: EDGE + 0.5, ...box, width: SPACE - 1, fill: "none", stroke: colours.faint }),
    svg("rect", { x: EDGE + SPACE * share, ...box, width: Math.max(2, SPACE * (1 - share)), fill: colours.accent }),
    svg("text", { x: EDGE + 5, y: 12.5, "font-size": 10, fill: colours.faint, text: `rests ${percent(share)}` }),
  );
}

/**
 * The means of the layers, and the best rival as a line.
 * @param {Finding} finding @param {number[]} means @param {Palette} colours
 */
function layerLine({ value, rivals }, means, colours) {
  const node = canvas(66);
  const [top, bottom] = [18, 48];
  const most = Math.max(...means, value ?? 0);
  /** @param {number} layer */
  const x = (layer) => 14 + (layer * (WIDTH - 40)) / Math.max(1, means.length - 1);
  /** @param {number} mean */
  const y = (mean) => bottom - (mean / most) * (bottom - top);
  const best = means.indexOf(Math.max(...means));
  const d = "M" + means.map((mean, layer) => `${x(layer).toFixed(1)} ${y(mean).toFixed(1)}`).join("L");
  node.append(svg("path", { d, fill: "none", stroke: colours.accent, "stroke-width": 2 }));
  const known = Object.values(rivals).filter((rival) => rival !== null);
  if (known.length) {
    const level = y(Math.max(...known));
    const line = { stroke: colours.picked, "stroke-width": 1.6, "stroke-dasharray": "3 2" };
    node.append(svg("path", { d: `M${x(0)} ${level}H${x(means.length - 1)}`, ...line }));
  }
  const ends = { y: 62, fill: colours.faint };
  node.append(
    svg("circle", { cx: x(best), cy: y(means[best]), r: 3.6, fill: colours.accent }),
    svg("text", {
      x: Math.min(WIDTH - 18, Math.max(18, x(best))),
      y: y(means[best]) - 7,
      text: percent(means[best]),
      "text-anchor": "middle",
      "font-size": 12,
      "font-weight": 700,
      fill: colours.ink,
    }),
    svg("text", { x: x(0), text: "layer 1", "text-anchor": "start", ...ends }),
    svg("text", { x: x(means.length - 1), text: String(means.length), "text-anchor": "middle", ...ends }),
  );
  return node;
}

/**
 * Where the heads are, and how many an untrained network has.
 * @param {Finding} finding @param {Atlas} atlas @param {Palette} colours
 */
function smallWall({ heads: named, value, most, rivals }, { heads }, colours) {
  const height = Math.min(9, 64 / heads.layers, SPACE / heads.widest);
  const cell = { width: Math.min(SPACE / heads.widest, 3 * height), height };
  const lines = [
    `${value} of ${most ?? heads.total}`,
    ...Object.entries(rivals).map(([name, number]) => (number === null ? "" : `${name} ${number}`)),
  ].filter(Boolean);
  const node = canvas(heads.layers * cell.height + 5 + 13 * lines.length);
  const marked = new Set(named.map(([layer, head]) => heads.index(layer, head)));
  const gap = Math.min(1.5, cell.width / 5, cell.height / 5);
  const parts = ["", ""];
  for (let index = 0; index < heads.total; index += 1) {
    const { layer, head } = heads.at(index);
    const [x, y] = [EDGE + (head - 1) * cell.width, (layer - 1) * cell.height];
    const [wide, high] = [cell.width - gap, cell.height - gap].map((size) => size.toFixed(2));
    parts[Number(marked.has(index))] += `M${x.toFixed(2)} ${y.toFixed(2)}h${wide}v${high}h-${wide}z`;
  }
  node.append(
    svg("path", { d: parts[0], fill: colours.rests }),
    svg("path", { d: parts[1], fill: colours.accent }),
    ...lines.map((line, place) => {
      const at = { x: EDGE, y: heads.layers * cell.height + 13 * (place + 1), fill: colours.faint };
      return svg("text", { ...at, text: fitted(line, SMALL, SPACE) });
    }),
  );
  return node;
}

/** Relations with the best head and the best offset of each. @param {Scored[]} relations @param {Palette} colours */
function relationBars(relations, colours) {
  const node = canvas(relations.length * 11 + 14);
  const names = relations.map(({ label }) => fitted(label, 10, 56));
  const left = Math.max(...names.map((name) => textWidth(name, 10))) + 8;
  /** @param {number} share */
  const x = (share) => left + share * (WIDTH - left - 8);
  relations.forEach(({ accuracy, baseline }, place) => {
    const y = 6 + place * 11;
    const [from, to] = [x(baseline ?? 0), x(accuracy ?? 0)];
    node.append(
      svg("text", {
        x: left - 6,
        y: y + 3.5,
        "font-size": 10,
        "text-anchor": "end",
        fill: colours.faint,
        text: names[place],
      }),
      svg("path", { d: `M${from} ${y}H${to}`, stroke: colours.accent, "stroke-width": 2 }),
      svg("path", { d: `M${from} ${y - 3.5}v7`, stroke: colours.picked, "stroke-width": 2 }),
      svg("circle", { cx: to, cy: y, r: 3, fill: colours.accent }),
    );
  });
  const ends = { y: relations.length * 11 + 11, "font-size": 10, fill: colours.faint };
  node.append(
    svg("text", { x: left, text: "0", ...ends }),
    svg("text", { x: x(1), "text-anchor": "end", text: "100 %", ...ends }),
  );
  return node;
}
