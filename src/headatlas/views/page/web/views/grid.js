/** The grid: layers x heads, as small attention maps of an example or as a heat map of any measure. */

import { tokenMap } from "../data/attention.js";
import { FONT, element, select, svg, toggle } from "../dom.js";
import { headGrid } from "../pictures/head-grid.js";
import { rampLegend } from "../pictures/legend.js";
import { range } from "../data/measures.js";
import { exampleGroups, measureGroups } from "../data/options.js";
import { channels } from "../pictures/palette.js";
import { savers } from "../saving.js";

const GAP = 6;
const SMALLEST = 8.5; // pixels of a number in a cell
const ABSENT =
  "This atlas has neither tables of heads nor examples. Make one with: headatlas survey MODEL --text FILE --out DIR";

export const gridView = { name: "grid", title: "Grid", create };

function create({ atlas, store, palette, room }) {
  const { heads } = atlas;
  const node = element("section", { class: "view", "aria-label": "Grid of all heads" });
  const controls = element("div", { class: "controls" });
  const stage = element("div", { class: "stage" });
  node.append(controls, stage);
  let grid = null;
  let drawing = 0;

  const measure = () => atlas.measureOf.get(store.shown.measure) ?? atlas.measures[0];
  const showsMaps = () => atlas.examples.length > 0 && (store.shown.show === "maps" || !atlas.measures.length);

  function drawControls() {
    const { shown } = store;
    const choices = [];
    if (atlas.measures.length) choices.push(["values", "Values"]);
    if (atlas.examples.length) choices.push(["maps", "Attention maps"]);
    const now = showsMaps() ? "maps" : "values";
    const parts = [toggle("What the cells show", choices, now, (show) => store.change({ show }))];
    if (now === "maps") {
      const change = (value) => store.change({ example: Number(value) });
      parts.push(select("Example", exampleGroups(atlas), String(shown.example), change));
    } else if (atlas.measures.length) {
      parts.push(select("Value", measureGroups(atlas), measure().id, (id) => store.change({ measure: id })));
    }
    const name = () => (now === "maps" ? `maps-example-${shown.example + 1}` : measure().id.replaceAll("/", "-"));
    parts.push(
      savers(
        name,
        () => stage.querySelector("svg"),
        () => palette().paper,
      ),
    );
    controls.replaceChildren(...parts);
  }

  async function draw() {
    if (!atlas.measures.length && !atlas.examples.length) {
      controls.replaceChildren(element("p", { class: "remark", text: ABSENT }));
      return;
    }
    const turn = (drawing += 1);
    const { width, height } = room();
    const pitch = Math.max(18, Math.min(92, (width - 96) / heads.widest, (height - 110) / heads.layers));
    const colours = palette();
    const now = showsMaps() ? null : measure();
    const example = now ? null : await atlas.example(store.shown.example);
    if (turn !== drawing) return;
    const say = (index) => (now ? [`Head ${heads.name(index)}`, valueOf(now, index)] : [`Head ${heads.name(index)}`]);
    const choose = (index) => store.change({ head: index });
    grid = headGrid(heads, {
      pitch,
      gap: GAP,
      axes: true,
      label: "All heads: arrow keys move",
      id: "grid",
      choose,
      say,
    });
    if (now) drawValues(grid, now, heads, colours);
    else drawMaps(grid, example, heads, colours);
    grid.select(store.shown.head);
    stage.replaceChildren(grid.node);
  }

  return {
    node,
    update(shown, changed) {
      const redrawn = ["view", "measure", "show", "theme", "size"].some((name) => changed.has(name));
      if (redrawn || (changed.has("example") && showsMaps())) {
        drawControls();
        return draw();
      }
      if (changed.has("head")) grid?.select(shown.head);
      return undefined;
    },
  };
}

function valueOf(measure, index) {
  const value = measure.values[index];
  return Number.isNaN(value) ? "no value" : measure.format(value);
}

function drawValues(grid, measure, heads, colours) {
  const [low, high] = range(measure);
  const share = (index) => (measure.values[index] - low) / (high - low);
  grid.paint((index) => colours.shade(share(index)), colours);
  writeValues(grid, measure, heads, colours);
  extend(grid.node, (x, y) => rampLegend(colours, [low, high], measure.format, measure.label, x, y));
}

/** The values as numbers in the cells, where these are large enough. */
export function writeValues(grid, measure, heads, colours) {
  const [low, high] = range(measure);
  const share = (index) => (measure.values[index] - low) / (high - low);
  const fontSize = Math.min(14, grid.size / 3.4);
  if (fontSize < SMALLEST) return;
  for (let index = 0; index < heads.total; index += 1) {
    if (Number.isNaN(measure.values[index])) continue;
    const { x, y } = grid.place(index);
    const text = measure.share
      ? String(Math.round(100 * measure.values[index]))
      : measure.format(measure.values[index]);
    const fits = { "font-size": fontSize, "text-anchor": "middle", fill: colours.onShade(share(index)) };
    grid.above.append(svg("text", { x: x + grid.size / 2, y: y + grid.size / 2 + fontSize * 0.36, text, ...fits }));
  }
}

/** All maps as one image, each a pixel a weight, with a margin as wide as the grid's gap. */
function drawMaps(grid, example, heads, colours) {
  const length = example.tokens.length;
  const canvas = element("canvas", { width: length, height: length });
  const pen = canvas.getContext("2d");
  const shades = Array.from({ length: 256 }, (_, level) => channels(colours.shade(Math.sqrt(level / 255))));
  for (let index = 0; index < heads.total; index += 1) {
    const pixels = pen.createImageData(length, length);
    tokenMap(example.maps, index, length).forEach((weight, place) => {
      pixels.data.set([...shades[Math.round(255 * weight)], 255], 4 * place);
    });
    pen.putImageData(pixels, 0, 0);
    const { x, y } = grid.place(index);
    const image = {
      x,
      y,
      width: grid.size,
      height: grid.size,
      href: canvas.toDataURL(),
      "image-rendering": "pixelated",
    };
    grid.under.append(svg("image", image));
  }
  grid.paint(() => "#00000000", colours);
  const from = (share) => `${Math.round(100 * share)} %`;
  const title = "weight; from the token of a row to that of a column";
  const shading = { ...colours, shade: (share) => colours.shade(Math.sqrt(share)) };
  extend(grid.node, (x, y) => rampLegend(shading, [0, 1], from, title, x, y));
}

/** Make room below a picture and draw there. */
function extend(picture, legend) {
  const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
  picture.append(svg("g", { "font-family": FONT }, legend(58, height + 14)));
  const wider = Math.max(width, 620);
  picture.setAttribute("viewBox", `0 0 ${wider} ${height + 46}`);
  picture.setAttribute("width", wider);
  picture.setAttribute("height", height + 46);
}
