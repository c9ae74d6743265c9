/** Side by side: the heads of two models as maps or grids, a head and its match linked. */

import { FONT, element, fitted, select, svg, toggle } from "../dom.js";
import { writeValues } from "./grid.js";
import { headGrid } from "../pictures/head-grid.js";
import { sayHead } from "./map.js";
import { colouring } from "../pictures/map-colours.js";
import { measureGroups } from "../data/options.js";
import { named } from "./pair-card.js";
import { savers } from "../saving.js";
import { headScatter, placesOnMap, zoomButtons } from "../pictures/scatter.js";

const STAGE_PADDING = 30;
const GAP = 28; // between the two pictures
const NARROWEST = 300; // pixels of a picture; two narrower ones stand below each other
const TITLE = 30;
const BELOW = 26;
const RING = 12; // pixels around a chosen point that a line leaves free
const NAMED = 48; // where its name stands in the way
const TURNED =
  "Like heads lie close. B's map is turned and mirrored so that matched heads lie as alike as they can; distances are unchanged.";

export const sidesView = { name: "sides", title: "Side by side", create };

function create({ atlas, store, palette, room }) {
  const { sides, pairs } = atlas;
  const node = element("section", { class: "view", "aria-label": "The heads of both models" });
  const controls = element("div", { class: "controls" });
  const verdict = element("p", { class: "verdict", "aria-live": "polite" });
  const remark = element("p", { class: "remark" });
  const stage = element("div", { class: "stage" });
  node.append(controls, verdict, stage, remark);
  const places = sides.map(placesOnMap);
  const hasMaps = places.every(Boolean);
  const KEYS = ["head", "other"];
  let form = hasMaps ? "map" : "grid";
  let panels = [];
  let [link, beside] = [null, true];

  const colour = () =>
    sides.every((side) => side.measureOf.has(store.shown.measure)) ||
    ["layer", "behaviour"].includes(store.shown.measure)
      ? store.shown.measure
      : "layer";

  function drawControls() {
    const own = [["layer", "layer"]];
    if (sides.some(({ behaviours }) => behaviours.length)) own.unshift(["behaviour", "behaviour"]);
    const forms = [
      ["map", "Maps"],
      ["grid", "Grids"],
    ];
    const change = (value) => {
      form = value;
      drawControls();
      draw();
    };
    controls.replaceChildren(
      hasMaps ? toggle("How the heads are laid out", forms, form, change) : "",
      select("Colour", [["", own], ...measureGroups(atlas)], colour(), (measure) => store.change({ measure })),
      form === "map" ? zoomButtons(() => panels.map(({ heads }) => heads)) : "",
      savers(
        () => `${form}s-${colour().replaceAll("/", "-")}`,
        () => stage.querySelector("svg"),
        () => palette().paper,
      ),
    );
    remark.textContent = form === "map" && pairs.measured ? TURNED : "";
  }

  function draw() {
    const colours = palette();
    const width = room().width - STAGE_PADDING;
    const free = Math.max(
      300,
      window.innerHeight - stage.getBoundingClientRect().top - STAGE_PADDING - (remark.textContent ? 60 : 30),
    );
    const key = colouring(sides[0], colour(), colours, 8, width - 16).legend(0);
    const high = free - TITLE - key.height - BELOW;
    beside = standBeside(width, high);
    const each = beside ? (width - GAP) / 2 : width;
    const tall = beside || form === "map" ? high : (high - TITLE) / 2;
    panels = sides.map((side, number) => panelOf(side, number, each, tall, colours));
    const taller = Math.max(...panels.map(({ height }) => height));
    panels.forEach((panel, number) =>
      Object.assign(
        panel,
        beside
          ? { x: number * (each + GAP), y: TITLE }
          : { x: (width - panel.width) / 2, y: TITLE + number * (taller + TITLE) },
      ),
    );
    const bottom = panels[1].y + taller + BELOW;
    const whole = bottom + key.height;
    const picture = svg("svg", {
      viewBox: `0 0 ${width} ${whole}`,
      width,
      height: whole,
      role: "group",
      "aria-label": "The heads of both models",
      "font-family": FONT,
    });
    link = svg("path", {
      fill: "none",
      stroke: colours.picked,
      "stroke-width": 1.8,
      "stroke-opacity": 0.8,
      "pointer-events": "none",
      class: "link-line",
    });
    panels.forEach(({ heads, x, y }, number) => {
      heads.node.setAttribute("x", x);
      heads.node.setAttribute("y", y);
      const title = svg(
        "text",
        { x: x + 8, y: y - 12, "font-size": 14, fill: colours.ink },
        svg("tspan", { text: `${"AB"[number]} `, "font-weight": 700 }),
        svg("tspan", { text: fitted(sides[number].content.name, 14, each - 40) }),
      );
      picture.append(title, heads.node);
    });
    picture.append(link, colouring(sides[0], colour(), colours, 8, width - 16).legend(bottom).node);
    stage.replaceChildren(picture);
    mark();
  }

  /** Maps stand beside each other where there is room; grids in the way that makes their cells larger. */
  function standBeside(width, height) {
    const half = (width - GAP) / 2;
    if (form === "map") return half >= NARROWEST;
    const least = (wide, tall) => Math.min(...sides.map(({ heads }) => pitchOf(heads, wide, tall)));
    return least(half, height) >= least(width, (height - TITLE) / 2);
  }

  function panelOf(side, number, width, height, colours) {
    const { heads, measureOf } = side;
    const { fill, outline } = colouring(side, colour(), colours, 0, width);
    const listeners = {
      choose: (index) => store.change({ [KEYS[number]]: index }),
      over: (index) => glance(number, index),
      say: (index) => {
        const { other, why, distance } = pairs.match(number, index);
        const [first, ...more] = sayHead(side, index, colour());
        const format = measureOf.get("match/distance")?.format;
        return [
          `${"AB"[number]}, ${first.toLowerCase()}`,
          ...more,
          why === "distance"
            ? `↔ ${named(atlas, 1 - number, other)}, ${format(distance)} nats`
            : `↔ ${named(atlas, 1 - number, other)}`,
        ];
      },
    };
    const label = `Heads of ${"AB"[number]}: arrow keys move`;
    if (form === "map") {
      return {
        heads: headScatter(heads, places[number], {
          width,
          height,
          alike: true,
          fill,
          outline,
          colours,
          label,
          ...listeners,
          moved: mark,
        }),
        width,
        height,
        ring: beside && !number ? NAMED : RING,
      };
    }
    const pitch = pitchOf(heads, width, height);
    const grid = headGrid(heads, {
      pitch,
      gap: pitch < 20 ? 2 : 3,
      axes: true,
      label,
      id: `side-${number}`,
      ...listeners,
    });
    grid.paint(fill, colours);
    if (measureOf.has(colour())) writeValues(grid, measureOf.get(colour()), heads, colours);
    const [wide, tall] = ["width", "height"].map((name) => Number(grid.node.getAttribute(name)));
    return { heads: grid, width: wide, height: tall, ring: grid.size / 2 + 2 };
  }

  /** Rings around the chosen heads, and a line from one to the other. */
  function mark() {
    const chosen = [store.shown.head, store.shown.other];
    panels.forEach(({ heads }, number) => {
      heads.select(chosen[number]);
      heads.glance(-1);
    });
    tell(chosen, store.shown.side);
  }

  function glance(side, index) {
    if (index < 0) return mark();
    const { other } = pairs.match(side, index);
    const seen = side ? [other, index] : [index, other];
    panels.forEach(({ heads }, number) => heads.glance(seen[number]));
    return tell(seen, side);
  }

  function tell([head, other], side) {
    const ends = [head, other].map((index, number) => {
      const point = panels[number]?.heads.point(index);
      return point ? { x: point.x + panels[number].x, y: point.y + panels[number].y } : null;
    });
    link?.setAttribute(
      "d",
      ends.every(Boolean)
        ? curve(
            ...ends,
            beside,
            panels.map(({ ring }) => ring),
          )
        : "",
    );
    verdict.replaceChildren(...sentence(atlas, head, other, side));
  }

  return {
    node,
    update(_shown, changed) {
      if (["view", "theme", "size", "measure"].some((name) => changed.has(name))) {
        drawControls();
        draw();
      } else if (changed.has("head") || changed.has("other")) mark();
    },
  };
}

function pitchOf(heads, width, height) {
  return Math.max(10, Math.min(64, (width - 66) / heads.widest, (height - 36) / heads.layers));
}

/** A line from ring to ring that leaves and arrives level, or upright where the pictures stand below each other. */
export function curve(from, to, beside, [left, right] = [0, 0]) {
  const along = beside ? "x" : "y";
  const [start, end] = [
    { ...from, [along]: from[along] + left },
    { ...to, [along]: to[along] - right },
  ];
  const middle = (start[along] + end[along]) / 2;
  const said = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  return `M${said(start)}C${said({ ...start, [along]: middle })} ${said({ ...end, [along]: middle })} ${said(end)}`;
}

/** What is to be said of two heads that belong together. */
function sentence(atlas, head, other, side) {
  const { why, distance } = atlas.pairs.match(side, side ? other : head);
  const bold = (place, index) => element("strong", { text: named(atlas, place, index) });
  const format = atlas.sides[0].measureOf.get("match/distance")?.format;
  const how = {
    distance: () => `: ${format(distance)} nats apart on the same text.`,
    behaviour: () => ": matched by a label that both have.",
    place: () => ": the same place.",
    none: () => ": no match.",
  }[why]();
  const { both, a, b } = atlas.labels(head, other);
  const parts = [
    ["Both", both],
    ["A alone", a],
    ["B alone", b],
  ]
    .filter(([, list]) => list.length)
    .map(([who, list]) => `${who}: ${list.join(", ")}.`);
  return [bold(0, head), " ↔ ", bold(1, other), how, parts.length ? ` ${parts.join(" ")}` : ""];
}
