/** The whole model: a cell for each head that says what it does and whether it rests, layers from the top. */

import { percent } from "../data/frames.js";
import { saysOf } from "../data/roles.js";
import { svg, textWidth, unbroken } from "../dom.js";
import { headGrid } from "./head-grid.js";
import { cellFill, cellMarks } from "./role-cell.js";

const LARGEST = { width: 46, height: 44 }; // pixels from cell to cell
const SMALLEST = 4;
const WIDEST = 1.75; // times the height of a cell
const MARGIN = { left: 60, top: 30, right: 48 }; // pixels; on the right, how much each layer rests
const BAR = 34;
const TITLE = "at rest";

/** @typedef {ReturnType<typeof wall>} Wall */

/**
 * @param {Atlas} atlas @param {Size} space @param {Palette} colours @param {(index: number) => void} choose
 */
export function wall(atlas, space, colours, choose) {
  const { heads, roles } = atlas;
  const measured = roles.some(({ share }) => !Number.isNaN(share));
  const right = measured ? MARGIN.right : 0;
  const across = (space.width - MARGIN.left - right) / heads.widest;
  const down = Math.min(LARGEST.height, (space.height - MARGIN.top) / heads.layers);
  const pitch = Math.max(SMALLEST, Math.min(LARGEST.width, across, WIDEST * down));
  const tall = Math.max(SMALLEST, Math.min(down, pitch));
  const gap = pitch > 24 ? 3 : pitch > 9 ? 2 : 1;
  const label = `What each of ${heads.total} heads does: arrow keys move`;
  /** @param {number} index */
  const say = (index) => describe(atlas, index);
  const grid = headGrid(heads, { pitch, tall, gap, axes: true, label, id: "wall", choose, say });
  grid.paint((index) => cellFill(roles[index], colours), colours, colours.ink);
  roles.forEach((head, index) => {
    const marks = cellMarks(head, colours, { ...grid.place(index), ...grid.size });
    if (marks.length) grid.draw(index, ...marks);
  });
  if (measured) addResting(atlas, grid, colours);
  return grid;
}

/**
 * How much the heads of each layer rest, at the right of the wall.
 * @param {Atlas} atlas @param {import("./head-grid.js").HeadGrid} grid @param {Palette} colours
 */
function addResting({ heads, roles }, grid, colours) {
  const left = grid.total.width + 4;
  const { height } = grid.size;
  const thick = Math.min(10, height);
  heads.perLayer.forEach((number, layer) => {
    const first = heads.starts[layer];
    const shares = roles.slice(first, first + number).map(({ share }) => share);
    const mean = shares.reduce((sum, share) => sum + (share || 0), 0) / number;
    const y = grid.place(first).y + (height - thick) / 2;
    const bar = svg("rect", { x: left, y, width: Math.max(1, BAR * mean), height: thick, rx: 1.5, fill: colours.none });
    bar.append(svg("title", { text: `layer ${layer + 1}: ${percent(mean)} of the attention rests` }));
    grid.node.append(bar);
  });
  const title = { x: left, y: 20, "font-size": 11.5, fill: colours.faint, text: TITLE };
  grid.node.append(svg("text", title));
  const width = Math.ceil(left + Math.max(BAR, textWidth(TITLE, 11.5)) + 2);
  grid.node.setAttribute("viewBox", `0 0 ${width} ${grid.total.height}`);
  grid.node.setAttribute("width", String(width));
}

/** The note of a head: what it does, the figures, how much rests. @param {Atlas} atlas @param {number} index */
export function describe({ heads, roles, content }, index) {
  const head = roles[index];
  const says = `Head ${heads.name(index)} ${saysOf(head)}`;
  const on = content.resting?.on ?? "";
  const rest = Number.isNaN(head.share) ? [] : [`${percent(head.share)} of its attention rests on ${on}`];
  return [says, ...(head.evidence ? [head.evidence] : []), ...rest].map(unbroken);
}
