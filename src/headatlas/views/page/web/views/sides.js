/** Side by side: the heads of two models as maps or grids, a head and its match linked. */

import { nats } from "../data/comparison.js";
import { describeHead, placesOnMap } from "../data/head-facts.js";
import { measureGroups } from "../data/options.js";
import { element, fitted, picture, select, svg, toggle } from "../dom.js";
import { headGrid } from "../pictures/head-grid.js";
import { colouring } from "../pictures/map-colours.js";
import { headScatter, zoomButtons } from "../pictures/scatter.js";
import { anyOf, view } from "../view.js";

const GAP = 28; // between the two pictures
const NARROWEST = 300; // pixels of a picture; two narrower ones stand below each other
const TITLE = 30;
const BELOW = 26;
const RING = 12; // pixels around a chosen point that a line leaves free
const NAMED = 48; // the same if its name is in the way
const TURNED =
  "Similar heads lie close together. B's map is rotated and reflected so that matched heads lie as close as " +
  "possible; its distances are unchanged.";
/** @type {Choice[]} */
const FORMS = [
  ["map", "Maps"],
  ["grid", "Grids"],
];
const KINDS = ["layer", "behaviour"];

/**
 * @typedef {{heads: HeadPicture, width: number, height: number, ring: number, x: number, y: number}} Side
 *   the picture of a side, its size, the space around its points, and its place
 */

/** @type {View} */
export const sidesView = view("sides", "Side by side", "The heads of both models", build);

/** @param {import("../view.js").Shell<Comparison>} shell @returns {Update} */
function build(shell) {
  const { atlas, store, palette, node, controls, verdict, remark, stage } = shell;
  const { sides, pairs } = atlas;
  node.append(controls, verdict, stage, remark);
  const places = sides.map(placesOnMap);
  const hasMaps = places.every(Boolean);
  let form = hasMaps ? "map" : "grid";
  /** @type {Side[]} */
  let panels = [];
  /** @type {import("../pictures/scatter.js").HeadScatter[]} */
  let scatters = [];
  /** @type {SVGElement|null} */
  let link = null;
  let beside = true;

  const colour = () => {
    const { measure } = store.shown;
    return sides.every(({ measureOf }) => measureOf.has(measure)) || KINDS.includes(measure) ? measure : "layer";
  };

  function drawControls() {
    /** @type {Choice[]} */
    const kinds = [["layer", "layer"]];
    if (sides.some(({ behaviours }) => behaviours.length)) kinds.unshift(["behaviour", "behaviour"]);
    const change = (/** @type {string} */ value) => {
      form = value;
      drawControls();
      draw();
    };
    controls.replaceChildren(
      hasMaps ? toggle("How the heads are laid out", FORMS, form, change) : "",
      select("Colour", [["", kinds], ...measureGroups(atlas)], colour(), (measure) => store.change({ measure })),
      form === "map" ? zoomButtons(() => scatters) : "",
      shell.savers(() => `${form}s-${colour().replaceAll("/", "-")}`),
    );
    remark.textContent = form === "map" && pairs.measured ? TURNED : "";
  }

  function draw() {
    const colours = palette();
    const width = shell.stageWidth();
    const free = Math.max(300, shell.stageHeight() - (remark.textContent ? 60 : 30));
    const { legend } = colouring(sides[0], colour(), colours, 8, width - 16, sides);
    const key = legend(0);
    const high = free - TITLE - key.height - BELOW;
    beside = standsBeside(width, high);
    const each = beside ? (width - GAP) / 2 : width;
    const tall = beside || form === "map" ? high : (high - TITLE) / 2;
    scatters = [];
    panels = sides.map((side, number) => panelOf(side, number, each, tall, colours));
    const tallest = Math.max(...panels.map(({ height }) => height));
    panels.forEach((panel, number) => {
      panel.x = beside ? number * (each + GAP) : (width - panel.width) / 2;
      panel.y = beside ? TITLE : TITLE + number * (tallest + TITLE);
    });
    const bottom = panels[1].y + tallest + BELOW;
    const root = picture({ width, height: bottom + key.height }, "The heads of both models", { role: "group" });
    panels.forEach(({ heads, x, y }, number) => {
      heads.node.setAttribute("x", String(x));
      heads.node.setAttribute("y", String(y));
      const name = fitted(sides[number].content.name, 14, each - 40);
      const letter = svg("tspan", { text: `${"AB"[number]} `, "font-weight": 700 });
      const place = { x: x + 8, y: y - 12, "font-size": 14, fill: colours.ink };
      root.append(svg("text", place, letter, svg("tspan", { text: name })), heads.node);
    });
    const line = { fill: "none", stroke: colours.picked, "stroke-width": 1.8, "stroke-opacity": 0.8 };
    link = svg("path", { ...line, "pointer-events": "none", class: "link-line" });
    root.append(link, legend(bottom).node);
    stage.replaceChildren(root);
    mark();
  }

  /**
   * Maps stand beside each other if there is space, grids if that makes their cells larger.
   * @param {number} width @param {number} height
   */
  function standsBeside(width, height) {
    const half = (width - GAP) / 2;
    if (form === "map") return half >= NARROWEST;
    /** @param {number} wide @param {number} tall */
    const smallest = (wide, tall) => Math.min(...sides.map(({ heads }) => pitchOf(heads, wide, tall)));
    return smallest(half, height) >= smallest(width, (height - TITLE) / 2);
  }

  /**
   * @param {Atlas} side
   * @param {number} number @param {number} width @param {number} height @param {Palette} colours
   * @returns {Side}
   */
  function panelOf(side, number, width, height, colours) {
    const { heads, measureOf } = side;
    const { fill, outline } = colouring(side, colour(), colours, 0, width);
    const label = `Heads of ${"AB"[number]}: arrow keys move`;
    const listeners = {
      /** @param {number} index */
      choose: (index) => store.change(number ? { other: index } : { head: index }),
      /** @param {number} index */
      over: (index) => glance(number, index),
      /** @param {number} index */
      say: (index) => {
        const { other, distance } = pairs.match(number, index);
        const [first, ...more] = describeHead(side, index, colour());
        const apart = distance === null ? "" : `, ${nats(distance)} nats`;
        return [`${"AB"[number]}, ${first.toLowerCase()}`, ...more, `↔ ${atlas.headName(1 - number, other)}${apart}`];
      },
    };
    const map = places[number];
    if (form === "map" && map) {
      const common = { width, height, alike: true, fill, outline, colours, label, moved: mark };
      const scatter = headScatter(heads, map, { ...common, ...listeners });
      scatters.push(scatter);
      return { heads: scatter, width, height, ring: beside && !number ? NAMED : RING, x: 0, y: 0 };
    }
    const pitch = pitchOf(heads, width, height);
    const id = `side-${number}`;
    const grid = headGrid(heads, { pitch, gap: pitch < 20 ? 2 : 3, axes: true, label, id, ...listeners });
    grid.paint(fill, colours);
    const measure = measureOf.get(colour());
    if (measure) grid.write(measure, colours);
    return { heads: grid, ...grid.total, ring: grid.size.height / 2 + 2, x: 0, y: 0 };
  }

  /** Rings around the chosen heads, and a line from one to the other. */
  function mark() {
    const { head, other, side } = store.shown;
    panels.forEach(({ heads }, number) => {
      heads.select(number ? other : head);
      heads.glance(-1);
    });
    describe(head, other, side);
  }

  /** @param {number} side @param {number} index */
  function glance(side, index) {
    if (index < 0) {
      mark();
      return;
    }
    const match = pairs.match(side, index).other;
    const [head, other] = side ? [match, index] : [index, match];
    panels.forEach(({ heads }, number) => heads.glance(number ? other : head));
    describe(head, other, side);
  }

  /** @param {number} head @param {number} other @param {number} side */
  function describe(head, other, side) {
    const [from, to] = panels.map(({ heads, x, y }, number) => {
      const point = heads.point(number ? other : head);
      return point && { x: point.x + x, y: point.y + y };
    });
    const rings = panels.map(({ ring }) => ring);
    link?.setAttribute("d", from && to ? curve(from, to, beside, rings) : "");
    verdict.replaceChildren(...sentence(atlas, head, other, side));
  }

  return (_shown, changed) => {
    if (anyOf(changed, "view", "theme", "size", "measure")) {
      drawControls();
      draw();
    } else if (anyOf(changed, "head", "other")) mark();
  };
}

/** @param {Heads} heads @param {number} width @param {number} height */
function pitchOf(heads, width, height) {
  return Math.max(10, Math.min(64, (width - 66) / heads.widest, (height - 36) / heads.layers));
}

/**
 * A line from ring to ring that leaves and arrives level, or upright if the pictures stand below each other.
 * @param {Point} from @param {Point} to @param {boolean} beside @param {number[]} rings
 */
function curve(from, to, beside, [left, right]) {
  const along = beside ? "x" : "y";
  const [start, end] = [{ ...from }, { ...to }];
  start[along] += left;
  end[along] -= right;
  const middle = (start[along] + end[along]) / 2;
  /** @param {Point} point */
  const said = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  return `M${said(start)}C${said({ ...start, [along]: middle })} ${said({ ...end, [along]: middle })} ${said(end)}`;
}

/**
 * What is said of two matched heads.
 * @param {Comparison} atlas @param {number} head @param {number} other @param {number} side
 */
function sentence(atlas, head, other, side) {
  const { why, distance } = atlas.pairs.match(side, side ? other : head);
  const how = {
    distance: `: ${nats(distance ?? NaN)} nats apart on the same text.`,
    behaviour: ": matched by a label that both have.",
    place: ": the same place.",
    none: ": no match.",
  }[why];
  const { both, a, b } = atlas.labels(head, other);
  /** @type {[string, string[]][]} */
  const groups = [
    ["Both", both],
    ["A alone", a],
    ["B alone", b],
  ];
  const labels = groups.filter(([, list]) => list.length).map(([who, list]) => ` ${who}: ${list.join(", ")}.`);
  const [first, second] = [head, other].map((index, number) => {
    return element("strong", { text: atlas.headName(number, index) });
  });
  return [first, " ↔ ", second, how, ...labels];
}
