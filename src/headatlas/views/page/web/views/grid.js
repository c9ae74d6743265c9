/** The grid: layers x heads, as small attention maps of an example or as a heat map of any measure. */

import { tokenMap } from "../data/attention.js";
import { percent } from "../data/frames.js";
import { range, scaled } from "../data/measures.js";
import { measureGroups } from "../data/options.js";
import { FONT, button, element, select, svg, toggle } from "../dom.js";
import { headGrid } from "../pictures/head-grid.js";
import { rampLegend } from "../pictures/legend.js";
import { channels } from "../pictures/palette.js";
import { zoomButtons } from "../pictures/scatter.js";
import { tip } from "../tip.js";
import { anyOf, view } from "../view.js";
import { exampleSelect } from "./example-controls.js";
import { createLargeMap } from "./large-map.js";

/** @typedef {import("../pictures/head-grid.js").HeadGrid} HeadGrid */

const MARGIN = { width: 96, height: 110 }; // pixels for numbers and legend
const SMALLEST = { values: 12, maps: 28 }; // pixels from cell to cell
const LEGIBLE = 56; // pixels of a map for which a grid may be higher than the window
const LARGEST = 92;
const WIDEST = 4; // times the height of a cell with a value
const MOST_ZOOM = 8;
const ABSENT =
  "This atlas has neither tables of heads nor examples. Make one with: headatlas survey MODEL --text FILE --out DIR";
const MAPS_LEGEND = "weight, from the token of a row to the token of a column";

export const gridView = view("grid", "Grid", "Grid of all heads", (shell) => {
  const { atlas, store, palette, size, node, controls, stage } = shell;
  const { heads } = atlas;
  const large = createLargeMap(shell);
  node.append(controls, stage, large.node);
  /** @type {HeadGrid|null} */
  let grid = null;
  let [turn, zoom] = [0, 1];
  const zooming = {
    /** @param {number} factor */
    scale(factor) {
      zoom = Math.min(MOST_ZOOM, Math.max(1, zoom * factor));
      return draw();
    },
    whole: () => zooming.scale(0),
  };

  const currentMeasure = () => atlas.measureOf.get(store.shown.measure) ?? atlas.measures[0];
  const showsMaps = () => atlas.examples.length > 0 && (store.shown.show === "maps" || !atlas.measures.length);

  function drawControls() {
    /** @type {Choice[]} */
    const choices = [];
    if (atlas.measures.length) choices.push(["values", "Values"]);
    if (atlas.examples.length) choices.push(["maps", "Attention maps"]);
    const maps = showsMaps();
    const { example } = store.shown;
    const change = (/** @type {string} */ measure) => store.change({ measure });
    controls.replaceChildren(
      toggle("What the cells show", choices, maps ? "maps" : "values", (show) => store.change({ show })),
      maps ? exampleSelect(shell) : select("Value", measureGroups(atlas), currentMeasure().id, change),
      zoomButtons(() => [zooming]),
      maps ? button("Open its map", large.open, { class: "quiet", title: "Enter or a double click open it too" }) : "",
      shell.savers(() => (maps ? `maps-example-${example + 1}` : currentMeasure().id.replaceAll("/", "-"))),
    );
  }

  async function draw() {
    const started = (turn += 1);
    const measure = showsMaps() ? null : currentMeasure();
    const { pitch, tall } = cellSize(measure !== null);
    const colours = palette();
    const example = measure ? null : await atlas.example(store.shown.example);
    if (started !== turn) return; // a newer drawing has begun
    /** @param {number} index */
    const say = (index) => [`Head ${heads.name(index)}`, ...(measure ? [valueText(measure, index)] : [])];
    /** @param {number} head */
    const choose = (head) => store.change({ head });
    const label = "All heads: arrow keys move";
    const gap = Math.min(6, Math.max(1, Math.min(pitch, tall) / 8));
    grid = headGrid(heads, { pitch, tall, gap, axes: true, label, id: "grid", choose, say });
    if (measure) drawValues(grid, measure, colours, shell.stageWidth());
    if (example) drawMaps(grid, example, heads, colours, shell.stageWidth());
    grid.select(store.shown.head);
    grid.node.addEventListener("dblclick", openMap);
    grid.node.addEventListener("keydown", (event) => event.key === "Enter" && openMap());
    const focused = stage.contains(document.activeElement);
    stage.classList.toggle("zoomed", zoom > 1);
    stage.replaceChildren(grid.node);
    if (focused) grid.node.focus();
  }

  function openMap() {
    if (!showsMaps()) return;
    tip(null, null);
    large.open();
  }

  /** Cells that fill the space: maps are square, values may be wider than high. @param {boolean} values */
  function cellSize(values) {
    const { width, height } = size();
    const space = { width: (width - MARGIN.width) / heads.widest, height: (height - MARGIN.height) / heads.layers };
    if (values) {
      const tall = Math.max(SMALLEST.values, Math.min(LARGEST, space.height, space.width));
      const pitch = Math.max(SMALLEST.values, Math.min(LARGEST, space.width, WIDEST * tall));
      return { pitch: zoom * pitch, tall: zoom * tall };
    }
    const side = Math.max(SMALLEST.maps, Math.min(LARGEST, space.width, Math.max(LEGIBLE, space.height)));
    return { pitch: zoom * side, tall: zoom * side };
  }

  return (shown, changed) => {
    const redraw = anyOf(changed, "view", "measure", "show", "theme", "size");
    if (!redraw && !(changed.has("example") && showsMaps())) {
      return changed.has("head") ? grid?.select(shown.head) : undefined;
    }
    if (!atlas.measures.length && !atlas.examples.length) {
      controls.replaceChildren(element("p", { class: "remark", text: ABSENT }));
      return undefined;
    }
    drawControls();
    return draw();
  };
});

/** @param {Measure} measure @param {number} index */
function valueText({ values, format }, index) {
  return Number.isNaN(values[index]) ? "no value" : format(values[index]);
}

/** @param {HeadGrid} grid @param {Measure} measure @param {Palette} colours @param {number} space */
function drawValues(grid, measure, colours, space) {
  const share = scaled(measure);
  grid.paint((index) => colours.shade(share(index)), colours);
  grid.write(measure, colours);
  extend(grid, space, rampLegend(colours, range(measure), measure.format, measure.label, space));
}

/**
 * The map of each head in its cell, one pixel per weight.
 * @param {HeadGrid} grid @param {Example} example @param {Heads} heads @param {Palette} colours @param {number} space
 */
function drawMaps(grid, example, heads, colours, space) {
  const { length } = example.tokens;
  const canvas = element("canvas", { width: length, height: length });
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const shading = { ...colours, shade: (/** @type {number} */ share) => colours.shade(Math.sqrt(share)) };
  const shades = Array.from({ length: 256 }, (_, level) => [...channels(shading.shade(level / 255)), 255]);
  for (let index = 0; index < heads.total; index += 1) {
    const pixels = pen.createImageData(length, length);
    tokenMap(example.maps, index, length).forEach((weight, place) => {
      pixels.data.set(shades[Math.round(255 * weight)], 4 * place);
    });
    pen.putImageData(pixels, 0, 0);
    const pixelled = { href: canvas.toDataURL(), "image-rendering": "pixelated" };
    grid.under.append(svg("image", { ...grid.place(index), ...grid.size, ...pixelled }));
  }
  grid.paint(() => "#00000000", colours);
  extend(grid, space, rampLegend(shading, [0, 1], (share) => percent(share), MAPS_LEGEND, space));
}

/**
 * Add a legend below a grid.
 * @param {HeadGrid} grid @param {number} space @param {{node: SVGElement, width: number, height: number}} legend
 */
function extend({ node, total, place }, space, legend) {
  const left = Math.max(0, Math.min(place(0).x, space - legend.width));
  const [width, height] = [Math.max(total.width, left + legend.width), total.height + legend.height + 14];
  legend.node.setAttribute("transform", `translate(${left} ${total.height + 14})`);
  node.append(svg("g", { "font-family": FONT }, legend.node));
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) {
    node.setAttribute(name, String(value));
  }
}
