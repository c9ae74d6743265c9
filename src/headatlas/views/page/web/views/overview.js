/** The overview: what was found, in sentences, and how it runs through the layers (figures 2, 3 and 4). */

import { panelsOf } from "../data/measures.js";
import { button, element, picture } from "../dom.js";
import { layerPanel } from "../pictures/layer-panel.js";
import { remark } from "../pictures/strips.js";
import { tip } from "../tip.js";
import { anyOf, view } from "../view.js";

const PANEL = { narrowest: 205, widest: 330 }; // pixels
const MOST_COLUMNS = 4;
const BOTH = "A: blue circles, solid line. B: orange squares, broken line. Lines are the means of layers.";

export const overviewView = view("overview", "Overview", "Overview", (shell) => {
  const { atlas, store, palette, node, stage } = shell;
  const { content } = atlas;
  const sides = atlas.sides ?? [atlas];
  const measures = panelsOf(atlas.measures);
  /** @param {string[]} sentences */
  const list = (sentences) =>
    element("ul", {}, ...sentences.map((sentence) => element("li", {}, ...withHeads(sentence, atlas, store))));
  /** @param {string} text */
  const heading = (text) => element("h2", { text });
  const layers = [
    element(
      "div",
      { class: "heading" },
      heading("Through the layers"),
      shell.savers(() => "layers"),
    ),
    stage,
    sides.length > 1 ? remark(BOTH) : "",
  ];
  node.append(
    element("p", { class: "lead", text: content.lead }),
    heading(atlas.sides ? "What differs" : "What the heads do"),
    list(content.findings),
    ...(measures.length ? layers : []),
    heading("Before you conclude"),
    list(content.caveats),
    heading("About this page"),
    list([...aboutExamples(content), ...content.notes]),
  );
  /** @type {ReturnType<typeof layerPanel>[]} */
  let panels = [];

  function draw() {
    const inside = shell.stageWidth();
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
    root.addEventListener("pointerleave", (event) => tip(event, null));
    stage.replaceChildren(root);
    mark(store.shown);
  }

  /** @param {Shown} shown */
  function mark({ head, other }) {
    panels.forEach((panel) => panel.mark([head, other]));
  }

  return (shown, changed) => {
    if (!measures.length) return;
    if (anyOf(changed, "view", "theme", "size")) draw();
    else if (anyOf(changed, "head", "other")) mark(shown);
  };
});

/** The head under the pointer, its side and its value. @param {Event} event */
function pointAt(event) {
  const { head, side, value } = /** @type {SVGElement} */ (event.target).dataset;
  return { head: head === undefined ? undefined : Number(head), side: Number(side ?? 0), value };
}

/** @param {Content} content */
function aboutExamples({ examples, examples_kept: kept }) {
  if (!kept) return [];
  const number = examples.length < kept ? `${examples.length} of ${kept}` : String(kept);
  return [
    `${number} examples with the attention maps of all heads. Weights are stored in 8 bits, so each may be off by up ` +
      "to 0.2 %. Right and wrong are decided before rounding.",
  ];
}

/**
 * A sentence in which the heads that it names can be chosen.
 * @param {string} sentence @param {Atlas} atlas @param {Store} store
 */
function withHeads(sentence, atlas, store) {
  const unbroken = sentence.replace(/(\d) %/g, "$1\u00a0%");
  return unbroken.split(/(?<![\w.-])(\d+-\d+)(?![\w-])/).map((part, place) => {
    const head = place % 2 ? atlas.heads.parse(part) : -1;
    return head < 0 ? part : button(part, () => store.change({ head }), { class: "link" });
  });
}
