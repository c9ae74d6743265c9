/** The overview: what was found, in sentences, and how it runs through the layers (figures 2, 3 and 4). */

import { FONT, element, fitted, svg, textWidth } from "../dom.js";
import { range } from "../data/measures.js";
import { savers } from "../saving.js";
import { tip } from "../tip.js";

const PANELS = [
  "token_kinds/cls",
  "token_kinds/sep",
  "token_kinds/period_comma",
  "positions/-1",
  "positions/1",
  "entropy/all",
  "gradients/sep",
  "gradients/other",
];
const PANEL = { narrowest: 205, widest: 330, left: 36, right: 14, bottom: 22, top: 24 };
const TITLE = { size: 12, least: 9, weight: 600 }; // a long one begins further left, then is smaller, then cut
const LABEL = { size: 11, gap: 6 }; // of the axes; pixels between two of them
const MOST_COLUMNS = 4;
const BOTH = "A: blue circles, full line. B: orange squares, broken line. Lines are means of layers.";
const APART = 4; // pixels between the points of two sides and their layer's place
const KEYS = ["head", "other"]; // what is chosen on each side

export const overviewView = { name: "overview", title: "Overview", create };

function create({ atlas, store, palette, room }) {
  const { content } = atlas;
  const sides = atlas.sides ?? [atlas];
  const node = element("section", { class: "view overview", "aria-label": "Overview" });
  const stage = element("div", { class: "stage" });
  const measures = PANELS.map((id) => atlas.measureOf.get(id)).filter(
    (one) => one && one.values.some((value) => !Number.isNaN(value)),
  );
  const list = (sentences) =>
    element(
      "ul",
      {},
      ...sentences.map((text) => element("li", {}, ...withHeads(text.replace(/(\d) %/g, "$1\u00a0%"), atlas, store))),
    );
  const kept = content.examples_kept;
  const examples = kept
    ? [
        `${content.examples.length}${content.examples.length < kept ? ` of ${kept}` : ""} examples with the maps of all heads; weights are kept in 8 bits, each off by at most 0.2 %. Right and wrong are decided before rounding.`,
      ]
    : [];
  const layers = element(
    "div",
    { class: "heading" },
    element("h2", { text: "Through the layers" }),
    savers(
      () => "layers",
      () => stage.querySelector("svg"),
      () => palette().paper,
    ),
  );
  node.append(
    element("p", { class: "lead", text: content.lead }),
    element("h2", { text: atlas.sides ? "What differs" : "What the heads do" }),
    list(content.findings),
    ...(measures.length ? [layers, stage, sides.length > 1 ? element("p", { class: "remark", text: BOTH }) : ""] : []),
    element("h2", { text: "Before you conclude" }),
    list(content.caveats),
    element("h2", { text: "In this page" }),
    list([...examples, ...content.notes]),
  );
  let rings = [];

  function draw() {
    const { width } = room();
    const colours = palette();
    const inside = width - 30;
    const columns = Math.max(1, Math.min(MOST_COLUMNS, measures.length, Math.floor(inside / PANEL.narrowest)));
    const wide = Math.min(PANEL.widest, Math.floor(inside / columns));
    const size = { width: wide, height: Math.round(80 + wide * 0.42) };
    const total = { width: columns * size.width, height: Math.ceil(measures.length / columns) * size.height };
    const picture = svg("svg", {
      viewBox: `0 0 ${total.width} ${total.height}`,
      width: total.width,
      height: total.height,
      role: "img",
      "aria-label": `Values of all heads by layer; the line is the layer's mean${sides.length > 1 ? "; circles and full line A, squares and broken line B" : ""}`,
      "font-family": FONT,
      "font-size": LABEL.size,
    });
    rings = measures.map((measure, place) => {
      const panel = panelOf(
        sides.map((side) => [side.measureOf.get(measure.id), side.heads]),
        colours,
        size,
      );
      panel.node.setAttribute(
        "transform",
        `translate(${(place % columns) * size.width} ${Math.floor(place / columns) * size.height})`,
      );
      picture.append(panel.node);
      return panel;
    });
    picture.addEventListener("click", (event) => {
      const { head, side } = event.target.dataset;
      if (head) store.change({ [KEYS[side]]: Number(head) });
    });
    picture.addEventListener("pointermove", (event) => {
      const { head, side, value } = event.target.dataset;
      const who = sides.length > 1 ? ` of ${"AB"[side]}` : "";
      tip(event, head ? [`Head ${sides[side].heads.name(Number(head))}${who}`, value] : null);
    });
    picture.addEventListener("pointerleave", (event) => tip(event, null));
    stage.replaceChildren(picture);
    mark(store.shown);
  }

  function mark({ head, other }) {
    rings.forEach((panel) => panel.mark([head, other]));
  }

  return {
    node,
    update(shown, changed) {
      if (!measures.length) return;
      if (["view", "theme", "size"].some((name) => changed.has(name))) draw();
      else if (changed.has("head") || changed.has("other")) mark(shown);
    },
  };
}

/**
 * One measure: a point a head, the layers from left to right, a line through the layers' means; of each side in its colour.
 * @param {[object, object][]} series the measure and the heads of each side
 */
function panelOf(series, colours, { width, height }) {
  const [measure] = series[0];
  const [low, high] = range(measure);
  const { right, bottom, top } = PANEL;
  const ends = [short(measure, high), short(measure, low)];
  const left = Math.max(PANEL.left, 8 + Math.max(...ends.map((end) => textWidth(end, LABEL.size))));
  const layers = Math.max(...series.map(([, heads]) => heads.layers));
  const x = (layer) => left + ((layer - 0.5) / layers) * (width - left - right);
  const y = (value) => height - bottom - ((value - low) / (high - low)) * (height - bottom - top - 6);
  const node = svg("g");
  const text = (at, words, attributes) => svg("text", { ...at, text: words, fill: colours.faint, ...attributes });
  const title = measure.label.replace(/^attention /, "");
  const [long, room] = [textWidth(title, TITLE.size, TITLE.weight), width - LABEL.gap];
  const size = Math.max(TITLE.least, Math.min(TITLE.size, (TITLE.size * room) / long));
  node.append(
    text({ x: Math.max(0, Math.min(left - 4, room - long)), y: 14 }, fitted(title, size, room, TITLE.weight), {
      class: "title",
      fill: colours.ink,
      "font-weight": TITLE.weight,
      "font-size": size,
    }),
    svg("path", { d: `M${left} ${top}V${height - bottom}H${width - right}`, fill: "none", stroke: colours.rule }),
    text({ x: left - 5, y: y(high) + 4 }, ends[0], { "text-anchor": "end" }),
    text({ x: left - 5, y: y(low) + 4 }, ends[1], { "text-anchor": "end" }),
  );
  const step = Math.ceil((textWidth(String(layers), LABEL.size) + LABEL.gap) / (x(2) - x(1)));
  for (let layer = 1; layer <= layers; layer += step)
    node.append(
      text({ x: x(layer), y: height - bottom + 14 }, String(layer), { class: "layer", "text-anchor": "middle" }),
    );
  const drawn = series.map(([own, heads], side) => {
    const aside = series.length > 1 ? (side ? APART : -APART) : 0;
    const at = (layer) => x(layer) + aside;
    const colour = side ? colours.picked : colours.accent;
    const line = series.length > 1 ? colour : colours.ink;
    const { points, marks, means } = pointsOf(own, heads, at, y, side, colour);
    const dashes = side ? { "stroke-dasharray": "5 3" } : {};
    const ring = svg("circle", {
      r: 5,
      fill: "none",
      stroke: series.length > 1 ? colours.ink : colours.picked,
      "stroke-width": 2.4,
      "pointer-events": "none",
    });
    node.append(
      ...marks,
      svg("path", {
        d: `M${means.join("L")}`,
        fill: "none",
        stroke: line,
        "stroke-width": 1.6,
        "pointer-events": "none",
        ...dashes,
      }),
    );
    return { points, ring };
  });
  node.append(...drawn.map(({ ring }) => ring));
  return {
    node,
    /** Ring the chosen head of each side. */
    mark(chosen) {
      drawn.forEach(({ points, ring }, side) => {
        const point = points[chosen[side]];
        ring.setAttribute("visibility", point ? "visible" : "hidden");
        if (!point) return;
        ring.setAttribute("cx", point[0]);
        ring.setAttribute("cy", point[1]);
      });
    },
  };
}

/** The points of a side's heads: circles, or squares on the second side; and the means of its layers. */
function pointsOf(measure, heads, x, y, side, fill) {
  const [points, marks, means] = [[], [], []];
  for (let layer = 1; layer <= heads.layers; layer += 1) {
    let [sum, count] = [0, 0];
    for (let head = 1; head <= heads.perLayer[layer - 1]; head += 1) {
      const index = heads.index(layer, head);
      const value = measure.values[index];
      points.push(Number.isNaN(value) ? null : [x(layer), y(value)]);
      if (Number.isNaN(value)) continue;
      [sum, count] = [sum + value, count + 1];
      const data = {
        fill,
        "fill-opacity": 0.45,
        "data-head": index,
        "data-side": side,
        "data-value": measure.format(value),
      };
      marks.push(
        side
          ? svg("rect", {
              x: (x(layer) - 2.8).toFixed(1),
              y: (y(value) - 2.8).toFixed(1),
              width: 5.6,
              height: 5.6,
              ...data,
            })
          : svg("circle", { cx: x(layer).toFixed(1), cy: y(value).toFixed(1), r: 3.2, ...data }),
      );
    }
    if (count) means.push(`${x(layer).toFixed(1)} ${y(sum / count).toFixed(1)}`);
  }
  return { points, marks, means };
}

function short(measure, value) {
  return measure.share ? `${Math.round(100 * value)}%` : value === 0 ? "0" : Number(value.toPrecision(2)).toString();
}

/** A sentence with the heads it names to be chosen. */
function withHeads(sentence, atlas, store) {
  return sentence.split(/(?<![\w.-])(\d+-\d+)(?![\w-])/).map((part, place) => {
    const index = place % 2 ? atlas.heads.parse(part) : -1;
    if (index < 0) return part;
    return element("button", {
      type: "button",
      class: "link",
      text: part,
      on: { click: () => store.change({ head: index }) },
    });
  });
}
