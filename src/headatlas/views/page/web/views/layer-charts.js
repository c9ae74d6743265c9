/** How measures run through the layers: a chart each, with one point per head (figures 2, 3 and 4). */

import { panelsOf } from "../data/measures.js";
import { picture } from "../dom.js";
import { layerPanel } from "../pictures/layer-panel.js";
import { tip } from "../tip.js";

const PANEL = { narrowest: 205, widest: 330 }; // pixels
const MOST_COLUMNS = 4;

/** @param {import("../view.js").Shell<Atlas>} shell draws on its stage */
export function layerCharts({ atlas, store, palette, stage, stageWidth }) {
  const sides = atlas.sides ?? [atlas];
  const measures = panelsOf(atlas.measures);
  /** @type {ReturnType<typeof layerPanel>[]} */
  let panels = [];

  function draw() {
    const inside = stageWidth();
    const columns = Math.max(1, Math.min(MOST_COLUMNS, measures.length, Math.floor(inside / PANEL.narrowest)));
    const width = Math.min(PANEL.widest, Math.floor(inside / columns));
    const height = Math.round(80 + width * 0.42);
    const total = { width: columns * width, height: Math.ceil(measures.length / columns) * height };
    const which = sides.length > 1 ? "; circles and solid line A, squares and broken line B" : "";
    const label = `Values of all heads by layer; the line is the mean of the layer${which}`;
    const root = picture(total, label, { "font-size": 11 });
    panels = measures.map(({ id }, place) => {
      const series = sides.flatMap(({ measureOf, heads }) => {
        const measure = measureOf.get(id);
        return measure ? [{ measure, heads }] : [];
      });
      const panel = layerPanel(series, palette(), { width, height });
      const [x, y] = [(place % columns) * width, Math.floor(place / columns) * height];
      panel.node.setAttribute("transform", `translate(${x} ${y})`);
      root.append(panel.node);
      return panel;
    });
    root.addEventListener("click", (event) => {
      const { head, side } = pointAt(event);
      if (head !== undefined) store.change(side ? { other: head } : { head });
    });
    root.addEventListener("pointermove", (event) => {
      const { head, side, value } = pointAt(event);
      const of = sides.length > 1 ? ` of ${"AB"[side]}` : "";
      tip(event, head === undefined ? null : [`Head ${sides[side].heads.name(head)}${of}`, value ?? ""]);
    });
    root.addEventListener("pointerleave", () => tip(null, null));
    stage.replaceChildren(root);
    mark();
  }

  /** Ring the chosen head. */
  function mark() {
    const { head, other } = store.shown;
    panels.forEach((panel) => panel.mark([head, other]));
  }

  return { any: measures.length > 0, draw, mark };
}

/** The head under the pointer, its side and its value. @param {Event} event */
function pointAt(event) {
  const { head, side, value } = /** @type {SVGElement} */ (event.target).dataset;
  return { head: head === undefined ? undefined : Number(head), side: Number(side ?? 0), value };
}
