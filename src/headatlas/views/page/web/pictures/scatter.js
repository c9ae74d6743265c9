/** Heads as points in a plane, to be chosen by pointer or arrow keys; zoomed with the wheel, moved when zoomed. */

import { FONT, element, svg } from "../dom.js";
import { tip } from "../tip.js";

export const MARGIN = 34;
const NAME = { width: 30, height: 13 }; // pixels that a head's name takes
const WHOLE = { k: 1, x: 0, y: 0 };
const STEP = 1.4;
let pictures = 0;

/**
 * @param {object} heads
 * @param {(number[]|null)[]} places where each head lies, in units of the data
 * @param {{width: number, height: number, below?: number, alike: boolean, fill: Function, outline?: string, colours: object, label: string,
 *          choose: Function, say: Function, over?: Function, moved?: Function, backdrop?: SVGElement, zoom?: object}} options
 *   `height` is that of the points, `below` what is left free under them. `alike`: one scale for both axes.
 *   `over(index)` follows the pointer, -1 where it is on no head; `moved()` is called when points have moved.
 */
export function headScatter(
  heads,
  places,
  {
    width,
    height,
    below = 0,
    alike,
    fill,
    colours,
    outline = colours.paper,
    label,
    choose,
    say,
    over = () => {},
    moved = () => {},
    backdrop = null,
    zoom = WHOLE,
  },
) {
  const id = `points-${(pictures += 1)}`;
  const radius = heads.total > 250 ? 5 : 7;
  const tall = height + below;
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${tall}`,
    width,
    height: tall,
    tabindex: 0,
    role: "img",
    "aria-label": label,
    "font-family": FONT,
  });
  const circles = svg("g", { stroke: outline, "stroke-width": outline === colours.paper ? 1.5 : 1 });
  const names = svg("g", { "font-size": 11, fill: colours.faint, "pointer-events": "none" });
  const glanced = svg("g", { "pointer-events": "none" });
  const chosen = svg("g", { class: "chosen", "pointer-events": "none" });
  const clip = svg("clipPath", { id }, svg("rect", { width, height: height + 8 }));
  picture.append(clip, svg("g", { "clip-path": `url(#${id})` }, backdrop, circles, names), glanced, chosen);
  const known = places.filter(Boolean);
  const bounds = [0, 1].map((axis) => extent(known.map((place) => place[axis])));
  const unit = (alike ? sameScale : ownScales)(bounds, { width, height });
  let points = [];
  let [now, seen, dragged] = [-1, -1, false];

  function draw() {
    points = places.map((place) => {
      if (!place) return null;
      const [x, y] = unit(place);
      return { x: x * zoom.k + zoom.x, y: y * zoom.k + zoom.y };
    });
    const circle = (point, index) =>
      point && svg("circle", { cx: point.x, cy: point.y, r: radius, fill: fill(index), "data-head": index });
    circles.replaceChildren(...points.map(circle).filter(Boolean));
    names.replaceChildren(
      ...namesThatFit(points, radius).map((index) =>
        svg("text", {
          x: points[index].x + radius + 3,
          y: points[index].y + 4,
          text: heads.name(index),
          "data-name": index,
        }),
      ),
    );
    select(now);
    glance(seen);
  }

  /** Ring and name of the chosen head. */
  function select(index) {
    now = index;
    for (const name of names.children)
      name.setAttribute("visibility", Number(name.dataset.name) === index ? "hidden" : "visible");
    mark(chosen, points[index], heads.total && index >= 0 ? heads.name(index) : "", 3);
  }

  /** Ring and name of a head that is looked at in passing. */
  function glance(index) {
    seen = index;
    mark(glanced, index === now ? null : points[index], index >= 0 ? heads.name(index) : "", 1.6);
  }

  function mark(group, point, name, thick) {
    group.replaceChildren();
    if (!point) return;
    const left = point.x > width - 52; // a name at the edge stands on the other side
    group.append(
      svg("circle", { cx: point.x, cy: point.y, r: 11, fill: "none", stroke: colours.picked, "stroke-width": thick }),
      svg("text", {
        x: point.x + (left ? -15 : 15),
        y: point.y + 5,
        "text-anchor": left ? "end" : "start",
        "font-size": 14,
        "font-weight": 700,
        fill: colours.ink,
        stroke: colours.paper,
        "stroke-width": 4,
        "paint-order": "stroke",
        text: name,
      }),
    );
  }

  function scale(factor, x = width / 2, y = height / 2) {
    const k = Math.min(20, Math.max(1, zoom.k * factor));
    const by = k / zoom.k;
    move(k === 1 ? WHOLE : { k, x: x - by * (x - zoom.x), y: y - by * (y - zoom.y) });
  }

  function move(to) {
    zoom = to;
    draw();
    moved();
  }

  const headOf = (event) => Number(event.target.dataset?.head ?? -1);
  picture.addEventListener("click", (event) => !dragged && headOf(event) >= 0 && choose(headOf(event)));
  picture.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const box = picture.getBoundingClientRect();
      scale(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    },
    { passive: false },
  );
  picture.addEventListener("pointerdown", (event) => {
    dragged = false;
    const start = { x: event.clientX - zoom.x, y: event.clientY - zoom.y };
    const from = { x: event.clientX, y: event.clientY };
    const drag = (at) => {
      if (zoom.k === 1 || Math.hypot(at.clientX - from.x, at.clientY - from.y) < 4) return;
      dragged = true;
      move({ ...zoom, x: at.clientX - start.x, y: at.clientY - start.y });
    };
    const end = () => {
      window.removeEventListener("pointermove", drag);
      window.removeEventListener("pointerup", end);
    };
    window.addEventListener("pointermove", drag);
    window.addEventListener("pointerup", end);
  });
  picture.addEventListener("pointermove", (event) => {
    over(headOf(event));
    tip(event, headOf(event) < 0 ? null : say(headOf(event)));
  });
  picture.addEventListener("pointerleave", (event) => {
    over(-1);
    tip(event, null);
  });
  picture.addEventListener("keydown", (event) => {
    const to = nearestThatWay(points, now, event.key);
    if (to === null) return;
    event.preventDefault();
    choose(to);
  });
  draw();
  return {
    node: picture,
    select,
    glance,
    scale,
    whole: () => move(WHOLE),
    /** The middle of a head's point; null where it has none. */
    point: (index) => points[index] ?? null,
    zoom: () => zoom,
  };
}

/** Where each head lies on an atlas's map of similar heads; null where it has none. */
export function placesOnMap({ frames, heads }) {
  const placed = frames.get("head_map");
  if (!placed?.has("layer", "head", "x", "y")) return null;
  const found = Array.from({ length: heads.total }, () => null);
  for (let row = 0; row < placed.length; row += 1) {
    const index = heads.index(placed.get("layer")[row], placed.get("head")[row]);
    const [x, y] = [placed.get("x")[row], placed.get("y")[row]];
    if (index >= 0 && x !== null && y !== null) found[index] = [x, y];
  }
  return found;
}

/** Buttons for those who have no wheel; `scatters` is asked when one is pressed. */
export function zoomButtons(scatters) {
  const button = (text, label, act) =>
    element("button", { type: "button", text, "aria-label": label, on: { click: () => scatters().forEach(act) } });
  return element(
    "span",
    { class: "toggle" },
    button("−", "Zoom out", (one) => one.scale(1 / STEP)),
    button("+", "Zoom in", (one) => one.scale(STEP)),
    button("Whole", "Show the whole map", (one) => one.whole()),
  );
}

export function extent(values) {
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
  const free = (box) =>
    !taken.some(([left, top, right, bottom]) => box[0] < right && box[2] > left && box[1] < bottom && box[3] > top);
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
