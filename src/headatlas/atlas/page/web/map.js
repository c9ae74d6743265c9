/** The map: every head a point, like ones side by side (figure 6), or by two measures; zoom with wheel or buttons. */

import { FONT, element, select, svg } from "./dom.js";
import { colouring } from "./mapcolours.js";
import { measureGroups } from "./options.js";
import { savers } from "./saving.js";
import { tip } from "./tip.js";

const SIMILARITY = "similarity";
const MARGIN = 34;
const STAGE_PADDING = 30;
const NAME = { width: 30, height: 13 }; // pixels that a head's name takes
const ABSENT =
  "This atlas has no map of similar heads (table head_map), so two measures place them. A survey with the study similarity makes one.";

export const mapView = { name: "map", title: "Map", create };

function create({ atlas, store, palette, room }) {
  const { heads } = atlas;
  const node = element("section", { class: "view", "aria-label": "Map of the heads" });
  const controls = element("div", { class: "controls" });
  const remark = element("p", { class: "remark" });
  const stage = element("div", { class: "stage" });
  node.append(controls, remark, stage);
  const placed = atlas.frames.get("head_map");
  const byId = (id, otherwise) => atlas.measureOf.get(id) ?? atlas.measures[otherwise % Math.max(1, atlas.measures.length)];
  let axes = placed ? SIMILARITY : "measures";
  let [across, up] = [byId("entropy/all", 0)?.id, byId("positions/-1", 1)?.id];
  let colour = atlas.behaviours.length ? "behaviour" : "layer";
  let zoom = { k: 1, x: 0, y: 0 };
  let points = [];
  let moved = false;

  /** Where heads lie, in units of the data. */
  function positions() {
    if (axes === SIMILARITY) {
      const found = Array.from({ length: heads.total }, () => null);
      for (let row = 0; row < placed.length; row += 1) {
        const index = heads.index(placed.get("layer")[row], placed.get("head")[row]);
        const [x, y] = [placed.get("x")[row], placed.get("y")[row]];
        if (index >= 0 && x !== null && y !== null) found[index] = [x, y];
      }
      return found;
    }
    const [one, other] = [byId(across, 0), byId(up, 1)];
    return Array.from({ length: heads.total }, (_, index) => {
      const place = [one.values[index], other.values[index]];
      return place.some(Number.isNaN) ? null : place;
    });
  }

  function drawControls() {
    const own = [["layer", "layer"]];
    if (atlas.behaviours.length) own.push(["behaviour", "behaviour"]);
    if (placed?.has("cluster")) own.push(["cluster", "cluster"]);
    const redraw = (change) => (value) => {
      change(value);
      zoom = { k: 1, x: 0, y: 0 };
      drawControls();
      draw();
    };
    const kinds = [["measures", "two measures"]];
    if (placed) kinds.unshift([SIMILARITY, "similar heads close (figure 6)"]);
    const parts = [select("Places", [["", kinds]], axes, redraw((value) => (axes = value)))];
    if (axes === "measures" && atlas.measures.length) {
      parts.push(select("Across", measureGroups(atlas), across, redraw((value) => (across = value))));
      parts.push(select("Up", measureGroups(atlas), up, redraw((value) => (up = value))));
    }
    parts.push(select("Colour", [["", own], ...measureGroups(atlas)], colour, redraw((value) => (colour = value))));
    const by = (factor) => () => scale(factor, stage.clientWidth / 2, stage.clientHeight / 2);
    const button = (text, label, click) => element("button", { type: "button", text, "aria-label": label, on: { click } });
    parts.push(
      element(
        "span",
        { class: "toggle" },
        button("−", "Zoom out", by(1 / 1.4)),
        button("+", "Zoom in", by(1.4)),
        button("Whole", "Show the whole map", () => {
          zoom = { k: 1, x: 0, y: 0 };
          draw();
        }),
      ),
      savers(() => `map-${colour.replaceAll("/", "-")}`, () => stage.querySelector("svg"), () => palette().paper),
    );
    controls.replaceChildren(...parts);
    remark.textContent = placed ? "" : ABSENT;
    remark.hidden = Boolean(placed);
  }

  function draw() {
    const width = room().width - STAGE_PADDING;
    const colours = palette();
    const tall = Math.max(320, window.innerHeight - stage.getBoundingClientRect().top - STAGE_PADDING - 26);
    const { fill, legend } = colouring(atlas, colour, colours, MARGIN, width - 2 * MARGIN);
    const key = legend(0);
    const plot = { width, height: tall - key.height - 26 };
    const places = positions();
    const known = places.filter(Boolean);
    const picture = svg("svg", { viewBox: `0 0 ${width} ${tall}`, width, height: tall, tabindex: 0, role: "img" });
    picture.setAttribute("aria-label", `Map of ${heads.total} heads, coloured by ${colour}; arrow keys move between heads`);
    picture.setAttribute("font-family", FONT);
    const bounds = [0, 1].map((axis) => extent(known.map((place) => place[axis])));
    const unit = axes === SIMILARITY ? sameScale(bounds, plot) : ownScales(bounds, plot);
    points = places.map((place) => {
      if (!place) return null;
      const [x, y] = unit(place);
      return { x: x * zoom.k + zoom.x, y: y * zoom.k + zoom.y };
    });
    const radius = heads.total > 250 ? 5 : 7;
    const layer = svg("g", { stroke: colours.paper, "stroke-width": 1.5 });
    points.forEach((point, index) => {
      if (point) layer.append(svg("circle", { cx: point.x, cy: point.y, r: radius, fill: fill(index), "data-head": index }));
    });
    const names = svg("g", { "font-size": 11, fill: colours.faint, "pointer-events": "none" });
    for (const index of namesThatFit(points, radius)) {
      const { x, y } = points[index];
      names.append(svg("text", { x: x + radius + 3, y: y + 4, text: heads.name(index), "data-name": index }));
    }
    const clip = svg("clipPath", { id: "map-clip" }, svg("rect", { width, height: plot.height + 8 }));
    picture.append(clip, svg("g", { "clip-path": "url(#map-clip)" }, axesOf(colours, plot), layer, names), svg("g", { class: "chosen", "pointer-events": "none" }));
    picture.append(legend(tall - key.height).node);
    listen(picture);
    stage.replaceChildren(picture);
    mark();
  }

  function axesOf(colours, plot) {
    if (axes === SIMILARITY || !atlas.measures.length) return svg("g");
    const text = (x, y, words, anchor) => svg("text", { x, y, text: words, fill: colours.faint, "font-size": 12, "text-anchor": anchor });
    const said = (measure) => {
      const [low, high] = extent([...measure.values].filter((value) => !Number.isNaN(value)));
      return `${measure.label}, ${measure.format(low)} to ${measure.format(high)}`;
    };
    return svg(
      "g",
      {},
      svg("path", { d: `M${MARGIN} 6V${plot.height}H${plot.width - 6}`, fill: "none", stroke: colours.rule }),
      text(plot.width - 8, plot.height - 6, `${said(byId(across, 0))} →`, "end"),
      text(MARGIN + 8, 16, `↑ ${said(byId(up, 1))}`, "start"),
    );
  }

  /** Ring and name of the chosen head. */
  function mark() {
    const group = stage.querySelector(".chosen");
    const point = points[store.shown.head];
    if (!group) return;
    group.replaceChildren();
    for (const name of stage.querySelectorAll("[data-name]")) {
      name.setAttribute("visibility", Number(name.dataset.name) === store.shown.head ? "hidden" : "visible");
    }
    if (!point) return;
    const colours = palette();
    group.append(
      svg("circle", { cx: point.x, cy: point.y, r: 11, fill: "none", stroke: colours.picked, "stroke-width": 3 }),
      svg("text", { x: point.x + 15, y: point.y + 5, "font-size": 14, "font-weight": 700, fill: colours.ink, stroke: colours.paper, "stroke-width": 4, "paint-order": "stroke", text: heads.name(store.shown.head) }),
    );
  }

  function scale(factor, x, y) {
    const k = Math.min(20, Math.max(1, zoom.k * factor));
    const by = k / zoom.k;
    zoom = k === 1 ? { k, x: 0, y: 0 } : { k, x: x - by * (x - zoom.x), y: y - by * (y - zoom.y) };
    draw();
  }

  function listen(picture) {
    const headOf = (event) => Number(event.target.dataset?.head ?? -1);
    picture.addEventListener("click", (event) => !moved && headOf(event) >= 0 && store.change({ head: headOf(event) }));
    picture.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = picture.getBoundingClientRect();
      scale(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    picture.addEventListener("pointerdown", (event) => {
      moved = false;
      const start = { x: event.clientX - zoom.x, y: event.clientY - zoom.y };
      const from = { x: event.clientX, y: event.clientY };
      const drag = (now) => {
        if (zoom.k === 1 || Math.hypot(now.clientX - from.x, now.clientY - from.y) < 4) return;
        moved = true;
        zoom = { ...zoom, x: now.clientX - start.x, y: now.clientY - start.y };
        draw();
      };
      const end = () => {
        window.removeEventListener("pointermove", drag);
        window.removeEventListener("pointerup", end);
      };
      window.addEventListener("pointermove", drag);
      window.addEventListener("pointerup", end);
    });
    picture.addEventListener("pointermove", (event) => {
      const index = headOf(event);
      const measure = atlas.measureOf.get(colour);
      const labels = atlas.behaviours.filter((one) => one.heads.includes(index)).map((one) => one.label);
      const value = measure && index >= 0 && !Number.isNaN(measure.values[index]) ? [measure.format(measure.values[index])] : [];
      tip(event, index < 0 ? null : [`Head ${heads.name(index)}`, ...value, ...labels]);
    });
    picture.addEventListener("pointerleave", (event) => tip(event, null));
    picture.addEventListener("keydown", (event) => {
      const to = nearestThatWay(points, store.shown.head, event.key);
      if (to === null) return;
      event.preventDefault();
      store.change({ head: to });
    });
  }

  return {
    node,
    update(shown, changed) {
      if (["view", "theme", "size"].some((name) => changed.has(name))) {
        drawControls();
        if (placed || atlas.measures.length) draw();
      } else if (changed.has("head")) mark();
    },
  };
}

function extent(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low < high ? [low, high] : [low - 1, high + 1];
}

/** One scale for both axes, since distances are what a map of similar heads shows. */
function sameScale([[left, right], [bottom, top]], { width, height }) {
  const unit = Math.min((width - 2 * MARGIN) / (right - left), (height - 2 * MARGIN) / (top - bottom));
  return ([x, y]) => [width / 2 + (x - (left + right) / 2) * unit, height / 2 - (y - (bottom + top) / 2) * unit];
}

function ownScales([[left, right], [bottom, top]], { width, height }) {
  const across = (width - 4 * MARGIN) / (right - left);
  const up = (height - 2 * MARGIN) / (top - bottom);
  return ([x, y]) => [1.5 * MARGIN + (x - left) * across, height - MARGIN - (y - bottom) * up];
}

/** Heads whose names cover neither a point nor another name. */
export function namesThatFit(points, radius) {
  const taken = points.filter(Boolean).map(({ x, y }) => [x - radius, y - radius, x + radius, y + radius]);
  const free = (box) => !taken.some(([left, top, right, bottom]) => box[0] < right && box[2] > left && box[1] < bottom && box[3] > top);
  const fitting = [];
  points.forEach((point, index) => {
    if (!point) return;
    const left = point.x + radius + 1;
    const box = [left, point.y - NAME.height / 2, left + NAME.width, point.y + NAME.height / 2];
    if (!free(box)) return;
    taken.push(box);
    fitting.push(index);
  });
  return fitting;
}

/** The head that lies nearest in the direction of an arrow key; null for other keys and at the edge. */
export function nearestThatWay(points, from, key) {
  const way = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[key];
  const start = points[from];
  if (!way || !start) return null;
  let [best, least] = [null, Infinity];
  const BESIDE = 1e6; // heads that lie more to the side than ahead come after all others
  points.forEach((point, index) => {
    if (!point || index === from) return;
    const [x, y] = [point.x - start.x, point.y - start.y];
    const along = x * way[0] + y * way[1];
    const aside = Math.abs(x * way[1]) + Math.abs(y * way[0]);
    if (along <= 0) return;
    const cost = along + 2 * aside + (aside > along ? BESIDE : 0);
    if (cost < least) [best, least] = [index, cost];
  });
  return best;
}
