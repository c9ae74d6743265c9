/** The map: every head a point, like ones side by side (figure 6), or by two measures; zoom with wheel or buttons. */

import { element, select, svg } from "../dom.js";
import { colouring } from "../pictures/map-colours.js";
import { measureGroups } from "../data/options.js";
import { savers } from "../saving.js";
import { MARGIN, extent, headScatter, placesOnMap, zoomButtons } from "../pictures/scatter.js";

const SIMILARITY = "similarity";
const STAGE_PADDING = 30;
const ABSENT =
  "This atlas has no map of similar heads (table head_map), so two measures place them. A survey with the study similarity makes one.";

export const mapView = { name: "map", title: "Map", create };

function create({ atlas, store, palette, room }) {
  const { heads } = atlas;
  const node = element("section", { class: "view map", "aria-label": "Map of the heads" });
  const controls = element("div", { class: "controls" });
  const remark = element("p", { class: "remark" });
  const stage = element("div", { class: "stage" });
  node.append(controls, remark, stage);
  const placed = placesOnMap(atlas);
  const byId = (id, otherwise) =>
    atlas.measureOf.get(id) ?? atlas.measures[otherwise % Math.max(1, atlas.measures.length)];
  let axes = placed ? SIMILARITY : "measures";
  let [across, up] = [byId("entropy/all", 0)?.id, byId("positions/-1", 1)?.id];
  let colour = atlas.behaviours.length ? "behaviour" : "layer";
  let [scatter, zoom] = [null, undefined];

  /** Where heads lie, in units of the data. */
  function positions() {
    if (axes === SIMILARITY) return placed;
    const [one, other] = [byId(across, 0), byId(up, 1)];
    return Array.from({ length: heads.total }, (_, index) => {
      const place = [one.values[index], other.values[index]];
      return place.some(Number.isNaN) ? null : place;
    });
  }

  function drawControls() {
    const own = [["layer", "layer"]];
    if (atlas.behaviours.length) own.push(["behaviour", "behaviour"]);
    if (atlas.frames.get("head_map")?.has("cluster")) own.push(["cluster", "cluster"]);
    const redraw = (change) => (value) => {
      change(value);
      zoom = undefined;
      drawControls();
      draw();
    };
    const kinds = [["measures", "two measures"]];
    if (placed) kinds.unshift([SIMILARITY, "similar heads close (figure 6)"]);
    const parts = [
      select(
        "Places",
        [["", kinds]],
        axes,
        redraw((value) => (axes = value)),
      ),
    ];
    if (axes === "measures" && atlas.measures.length) {
      parts.push(
        select(
          "Across",
          measureGroups(atlas),
          across,
          redraw((value) => (across = value)),
        ),
      );
      parts.push(
        select(
          "Up",
          measureGroups(atlas),
          up,
          redraw((value) => (up = value)),
        ),
      );
    }
    parts.push(
      select(
        "Colour",
        [["", own], ...measureGroups(atlas)],
        colour,
        redraw((value) => (colour = value)),
      ),
    );
    parts.push(
      zoomButtons(() => (scatter ? [scatter] : [])),
      savers(
        () => `map-${colour.replaceAll("/", "-")}`,
        () => stage.querySelector("svg"),
        () => palette().paper,
      ),
    );
    controls.replaceChildren(...parts);
    remark.textContent = placed ? "" : ABSENT;
    remark.hidden = Boolean(placed);
  }

  function draw() {
    const width = room().width - STAGE_PADDING;
    const colours = palette();
    const tall = Math.max(320, window.innerHeight - stage.getBoundingClientRect().top - STAGE_PADDING - 26);
    const { fill, outline, legend } = colouring(atlas, colour, colours, MARGIN, width - 2 * MARGIN);
    const key = legend(0);
    const plot = { width, height: tall - key.height - 26 };
    scatter = headScatter(heads, positions(), {
      ...plot,
      below: key.height + 26,
      alike: axes === SIMILARITY,
      fill,
      outline,
      colours,
      label: `Map of ${heads.total} heads, coloured by ${colour}; arrow keys move between heads`,
      choose: (index) => store.change({ head: index }),
      say: (index) => sayHead(atlas, index, colour),
      backdrop: axesOf(colours, plot),
      zoom,
      moved: () => (zoom = scatter.zoom()),
    });
    scatter.node.append(legend(tall - key.height).node);
    scatter.select(store.shown.head);
    stage.replaceChildren(scatter.node);
  }

  function axesOf(colours, plot) {
    if (axes === SIMILARITY || !atlas.measures.length) return svg("g");
    const text = (x, y, words, anchor) =>
      svg("text", { x, y, text: words, fill: colours.faint, "font-size": 12, "text-anchor": anchor });
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

  return {
    node,
    update(shown, changed) {
      if (["view", "theme", "size"].some((name) => changed.has(name))) {
        drawControls();
        if (placed || atlas.measures.length) draw();
      } else if (changed.has("head")) scatter?.select(shown.head);
    },
  };
}

/** What a note beside a point says: the head, its value where it is coloured by one, its behaviours. */
export function sayHead(atlas, index, colour) {
  const measure = atlas.measureOf.get(colour);
  const labels = atlas.behaviours.filter((one) => one.heads.includes(index)).map((one) => one.label);
  const value = measure && !Number.isNaN(measure.values[index]) ? [measure.format(measure.values[index])] : [];
  return [`Head ${atlas.heads.name(index)}`, ...value, ...labels];
}
