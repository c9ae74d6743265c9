/** The map: every head a point, similar heads close together (figure 6), or placed by two measures. */

import { clustersOf, describeHead, placesOnMap } from "../data/head-facts.js";
import { mapAxes } from "../data/measures.js";
import { measureGroups } from "../data/options.js";
import { select, svg } from "../dom.js";
import { colouring } from "../pictures/map-colours.js";
import { MARGIN, extent, headScatter, zoomButtons } from "../pictures/scatter.js";
import { anyOf, view } from "../view.js";

const SIMILARITY = "similar";
const MEASURES = "measures";
const BELOW = 26; // pixels between the points and their legend
const ABSENT =
  "This atlas has no map of similar heads, so two measures place them. A survey with --studies similarity makes one.";

export const mapView = view("map", "Map", "Map of the heads", (shell) => {
  const { atlas, store, palette, node, controls, remark, stage } = shell;
  const { heads } = atlas;
  node.append(controls, remark, stage);
  const placed = placesOnMap(atlas);
  const hasClusters = clustersOf(atlas).size > 0;
  let places = placed ? SIMILARITY : MEASURES;
  let axes = atlas.measures.length ? mapAxes(atlas.measures).map(({ id }) => id) : [];
  let colour = atlas.behaviours.length ? "behaviour" : "layer";
  /** @type {import("../pictures/scatter.js").HeadScatter|null} */
  let scatter = null;
  /** @type {import("../pictures/scatter.js").Zoom|undefined} */
  let zoom;

  const axisMeasures = () => axes.map((id) => /** @type {Measure} */ (atlas.measureOf.get(id)));

  /** Where heads lie, in units of the data. @returns {([number, number]|null)[]} */
  function positions() {
    if (places === SIMILARITY && placed) return placed;
    const [first, second] = axisMeasures();
    return Array.from({ length: heads.total }, (_, index) => {
      const [x, y] = [first.values[index], second.values[index]];
      return Number.isNaN(x) || Number.isNaN(y) ? null : [x, y];
    });
  }

  function drawControls() {
    /** @param {(value: string) => void} change */
    const redraw = (change) => (/** @type {string} */ value) => {
      change(value);
      zoom = undefined;
      drawControls();
      draw();
    };
    const groups = measureGroups(atlas);
    /** @type {Choice[]} */
    const layouts = [[MEASURES, "two measures"]];
    if (placed) layouts.unshift([SIMILARITY, "similar heads close (figure 6)"]);
    /** @type {Choice[]} */
    const kinds = [["layer", "layer"]];
    if (atlas.behaviours.length) kinds.push(["behaviour", "behaviour"]);
    if (hasClusters) kinds.push(["cluster", "cluster"]);
    const change = redraw((value) => (places = value));
    const byMeasures = places === MEASURES && atlas.measures.length > 0;
    const axisSelects = ["Across", "Up"].map((label, axis) =>
      select(
        label,
        groups,
        axes[axis],
        redraw((value) => (axes[axis] = value)),
      ),
    );
    controls.replaceChildren(
      select("Places", [["", layouts]], places, change),
      ...(byMeasures ? axisSelects : []),
      select(
        "Colour",
        [["", kinds], ...groups],
        colour,
        redraw((value) => (colour = value)),
      ),
      zoomButtons(() => (scatter ? [scatter] : [])),
      shell.savers(() => `map-${colour.replaceAll("/", "-")}`),
    );
    remark.textContent = placed ? "" : ABSENT;
    remark.hidden = Boolean(placed);
  }

  function draw() {
    const width = shell.stageWidth();
    const colours = palette();
    const tall = Math.max(320, Math.min(shell.stageHeight() - 26, 1.2 * width));
    const { fill, outline, legend } = colouring(atlas, colour, colours, MARGIN, width - 2 * MARGIN);
    const key = legend(0);
    const plot = { width, height: tall - key.height - BELOW };
    const drawn = headScatter(heads, positions(), {
      ...plot,
      below: key.height + BELOW,
      alike: places === SIMILARITY,
      fill,
      outline,
      colours,
      label: `Map of ${heads.total} heads, coloured by ${colour}; arrow keys move between heads`,
      choose: (index) => store.change({ head: index }),
      say: (index) => describeHead(atlas, index, colour),
      backdrop: places === SIMILARITY ? null : axesPicture(axisMeasures(), colours, plot),
      zoom,
      moved: () => (zoom = drawn.zoom()),
    });
    scatter = drawn;
    drawn.node.append(legend(tall - key.height).node);
    drawn.select(store.shown.head);
    stage.replaceChildren(drawn.node);
  }

  return (shown, changed) => {
    if (anyOf(changed, "view", "theme", "size")) {
      drawControls();
      if (placed || atlas.measures.length) draw();
    } else if (changed.has("head")) scatter?.select(shown.head);
  };
});

/** @param {Measure[]} measures across and up @param {Palette} colours @param {Size} plot */
function axesPicture([across, up], colours, { width, height }) {
  /** @param {Measure} measure */
  const title = ({ label, values, format }) => {
    const [low, high] = extent([...values].filter((value) => !Number.isNaN(value)));
    return `${label}, ${format(low)} to ${format(high)}`;
  };
  const common = { fill: colours.faint, "font-size": 12 };
  return svg(
    "g",
    {},
    svg("path", { d: `M${MARGIN} 6V${height}H${width - 6}`, fill: "none", stroke: colours.rule }),
    svg("text", { x: width - 8, y: height - 6, "text-anchor": "end", text: `${title(across)} →`, ...common }),
    svg("text", { x: MARGIN + 8, y: 16, "text-anchor": "start", text: `↑ ${title(up)}`, ...common }),
  );
}
