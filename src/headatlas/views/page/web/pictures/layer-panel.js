/** One measure through the layers: one point per head, and a line through the means of the layers. */

import { range } from "../data/measures.js";
import { fitted, svg, textWidth } from "../dom.js";

const MARGIN = { left: 36, right: 14, bottom: 22, top: 24 };
const TITLE = { size: 12, least: 9, weight: 600 }; // a long one starts further left, then shrinks, then is cut
const LABEL = { size: 11, gap: 6 }; // of the axes; pixels between two of them
const APART = 4; // pixels between the points of a side and their layer's place

/** @typedef {{measure: Measure, heads: Heads}} Series of one side */

/** @param {Series[]} series one or two sides, each in its own colour @param {Palette} colours @param {Size} size */
export function layerPanel(series, colours, { width, height }) {
  const two = series.length > 1;
  const [{ measure }] = series;
  const [low, high] = range(measure);
  const { right, bottom, top } = MARGIN;
  const ends = [high, low].map((value) => shortNumber(measure, value));
  const left = Math.max(MARGIN.left, 8 + Math.max(...ends.map((end) => textWidth(end, LABEL.size))));
  const layers = Math.max(...series.map(({ heads }) => heads.layers));
  /** @param {number} layer */
  const x = (layer) => left + ((layer - 0.5) / layers) * (width - left - right);
  /** @param {number} value */
  const y = (value) => height - bottom - ((value - low) / (high - low)) * (height - bottom - top - 6);
  const node = svg("g");
  const title = measure.label.replace(/^attention /, "");
  const [long, space] = [textWidth(title, TITLE.size, TITLE.weight), width - LABEL.gap];
  const size = Math.max(TITLE.least, Math.min(TITLE.size, (TITLE.size * space) / long));
  const text = fitted(title, size, space, TITLE.weight);
  const faint = { fill: colours.faint };
  node.append(
    svg("text", {
      x: Math.max(0, Math.min(left - 4, space - long)),
      y: 14,
      text,
      class: "title",
      fill: colours.ink,
      "font-weight": TITLE.weight,
      "font-size": size,
    }),
    svg("path", { d: `M${left} ${top}V${height - bottom}H${width - right}`, fill: "none", stroke: colours.rule }),
    svg("text", { x: left - 5, y: y(high) + 4, text: ends[0], "text-anchor": "end", ...faint }),
    svg("text", { x: left - 5, y: y(low) + 4, text: ends[1], "text-anchor": "end", ...faint }),
  );
  const step = Math.ceil((textWidth(String(layers), LABEL.size) + LABEL.gap) / (x(2) - x(1)));
  const tick = { y: height - bottom + 14, class: "layer", "text-anchor": "middle", ...faint };
  for (let layer = 1; layer <= layers; layer += step) {
    node.append(svg("text", { x: x(layer), text: String(layer), ...tick }));
  }
  const drawn = series.map((own, side) => {
    const aside = two ? (side ? APART : -APART) : 0;
    const colour = side ? colours.picked : colours.accent;
    const { points, marks, means } = pointsOf(own, (layer) => x(layer) + aside, y, side, colour);
    const line = { fill: "none", stroke: two ? colour : colours.ink, "stroke-width": 1.6, "pointer-events": "none" };
    node.append(...marks, svg("path", { d: `M${means.join("L")}`, ...line, "stroke-dasharray": side ? "5 3" : null }));
    const outline = { fill: "none", stroke: two ? colours.ink : colours.picked, "stroke-width": 2.4 };
    return { points, ring: svg("circle", { r: 5, ...outline, "pointer-events": "none" }) };
  });
  node.append(...drawn.map(({ ring }) => ring));
  return {
    node,
    /** Ring the chosen head of each side. @param {number[]} chosen */
    mark(chosen) {
      drawn.forEach(({ points, ring }, side) => {
        const point = points[chosen[side]];
        ring.setAttribute("visibility", point ? "visible" : "hidden");
        if (!point) return;
        ring.setAttribute("cx", String(point.x));
        ring.setAttribute("cy", String(point.y));
      });
    },
  };
}

/**
 * The heads of a side: circles, or squares on the second side; and the means of its layers.
 * @param {Series} series @param {(layer: number) => number} x @param {(value: number) => number} y
 * @param {number} side @param {string} fill
 */
function pointsOf({ measure, heads }, x, y, side, fill) {
  /** @type {(Point|null)[]} */
  const points = [];
  const [marks, means] = [/** @type {SVGElement[]} */ ([]), /** @type {string[]} */ ([])];
  for (let layer = 1; layer <= heads.layers; layer += 1) {
    let [sum, count] = [0, 0];
    for (let head = 1; head <= heads.perLayer[layer - 1]; head += 1) {
      const index = heads.index(layer, head);
      const value = measure.values[index];
      const point = Number.isNaN(value) ? null : { x: x(layer), y: y(value) };
      points.push(point);
      if (!point) continue;
      [sum, count] = [sum + value, count + 1];
      const data = { "data-head": index, "data-side": side, "data-value": measure.format(value) };
      marks.push(pointMark(point, side, { fill, "fill-opacity": 0.45, ...data }));
    }
    if (count) means.push(`${x(layer).toFixed(1)} ${y(sum / count).toFixed(1)}`);
  }
  return { points, marks, means };
}

/** @param {Point} point @param {number} side @param {import("../dom.js").Attributes} attributes */
function pointMark({ x, y }, side, attributes) {
  if (!side) return svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 3.2, ...attributes });
  const corner = { x: (x - 2.8).toFixed(1), y: (y - 2.8).toFixed(1) };
  return svg("rect", { ...corner, width: 5.6, height: 5.6, ...attributes });
}

/** @param {Measure} measure @param {number} value */
function shortNumber({ share }, value) {
  return share ? `${Math.round(100 * value)}%` : value === 0 ? "0" : Number(value.toPrecision(2)).toString();
}
