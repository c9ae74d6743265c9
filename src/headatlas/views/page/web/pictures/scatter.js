/** Heads as points in a plane, chosen by pointer or arrow keys; the wheel zooms, dragging moves a zoomed picture. */

import { button, element, picture, svg } from "../dom.js";
import { tip } from "../tip.js";
import { headAt } from "./choosing.js";

export const MARGIN = 34;
const NAME = { width: 30, height: 13 }; // pixels that a head's name takes
const WHOLE = { k: 1, x: 0, y: 0 };
const STEP = 1.4;
const BESIDE = 1e6; // heads that lie more to the side than ahead come after all others
/** @type {Record<string, [number, number]>} */
const WAYS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
let pictures = 0;

/**
 * @typedef {[x: number, y: number]} Place in units of the data
 * @typedef {[low: number, high: number]} Bounds
 * @typedef {{k: number, x: number, y: number}} Zoom
 * @typedef {ReturnType<typeof headScatter>} HeadScatter
 */

/**
 * @param {Heads} heads
 * @param {(Place|null)[]} places where each head lies
 * @param {{width: number, height: number, below?: number, alike: boolean, fill: (index: number) => string,
 *          outline?: string, colours: Palette, label: string, choose: (index: number) => void,
 *          say: (index: number) => string[], over?: (index: number) => void, moved?: () => void,
 *          backdrop?: SVGElement|null, zoom?: Zoom}} options
 *   `height` is that of the points, `below` is left free under them; `alike` means one scale for both axes;
 *   `over(index)` follows the pointer, -1 between heads; `moved()` is called when points have moved
 */
export function headScatter(heads, places, options) {
  const { width, height, below = 0, alike, fill, colours, outline = colours.paper, label, choose, say } = options;
  const { over = () => {}, moved = () => {}, backdrop = null } = options;
  const id = `points-${(pictures += 1)}`;
  const radius = heads.total > 250 ? 5 : 7;
  const node = picture({ width, height: height + below }, label, { tabindex: 0, "data-arrows": "" });
  const circles = svg("g", { stroke: outline, "stroke-width": outline === colours.paper ? 1.5 : 1 });
  const names = svg("g", { "font-size": 11, fill: colours.faint, "pointer-events": "none" });
  const glanced = svg("g", { "pointer-events": "none" });
  const chosen = svg("g", { class: "chosen", "pointer-events": "none" });
  const clip = svg("clipPath", { id }, svg("rect", { width, height: height + 8 }));
  node.append(clip, svg("g", { "clip-path": `url(#${id})` }, backdrop, circles, names), glanced, chosen);
  const known = places.filter((place) => place !== null);
  const bounds = [0, 1].map((axis) => extent(known.map((place) => place[axis])));
  const position = (alike ? sameScale : ownScales)(bounds, { width, height });
  /** @type {(Point|null)[]} */
  let points = [];
  let zoom = options.zoom ?? WHOLE;
  let [selected, seen, dragged] = [-1, -1, false];

  function draw() {
    points = places.map((place) => {
      if (!place) return null;
      const [x, y] = position(place);
      return { x: x * zoom.k + zoom.x, y: y * zoom.k + zoom.y };
    });
    const drawn = points.flatMap((point, index) =>
      point ? [svg("circle", { cx: point.x, cy: point.y, r: radius, fill: fill(index), "data-head": index })] : [],
    );
    circles.replaceChildren(...drawn);
    const texts = namesThatFit(points, radius).map((index) => {
      const { x, y } = /** @type {Point} */ (points[index]);
      return svg("text", { x: x + radius + 3, y: y + 4, text: heads.name(index), "data-name": index });
    });
    names.replaceChildren(...texts);
    select(selected);
    glance(seen);
  }

  /** Ring and name of the chosen head. @param {number} index */
  function select(index) {
    selected = index;
    for (const name of names.children) {
      const covered = name instanceof SVGElement && Number(name.dataset.name) === index;
      name.setAttribute("visibility", covered ? "hidden" : "visible");
    }
    mark(chosen, index, 3);
  }

  /** Ring and name of a head under the pointer. @param {number} index */
  function glance(index) {
    seen = index;
    mark(glanced, index === selected ? -1 : index, 1.6);
  }

  /** @param {SVGElement} group @param {number} index @param {number} thick */
  function mark(group, index, thick) {
    group.replaceChildren();
    const point = points[index];
    if (!point) return;
    const left = point.x > width - 52; // a name at the edge stands on the other side
    const place = { x: point.x + (left ? -15 : 15), y: point.y + 5, "text-anchor": left ? "end" : "start" };
    const halo = { fill: colours.ink, stroke: colours.paper, "stroke-width": 4, "paint-order": "stroke" };
    group.append(
      svg("circle", { cx: point.x, cy: point.y, r: 11, fill: "none", stroke: colours.picked, "stroke-width": thick }),
      svg("text", { ...place, ...halo, "font-size": 14, "font-weight": 700, text: heads.name(index) }),
    );
  }

  /** @param {number} factor */
  function scale(factor, x = width / 2, y = height / 2) {
    const k = Math.min(20, Math.max(1, zoom.k * factor));
    const by = k / zoom.k;
    move(k === 1 ? WHOLE : { k, x: x - by * (x - zoom.x), y: y - by * (y - zoom.y) });
  }

  /** @param {Zoom} to */
  function move(to) {
    zoom = to;
    draw();
    moved();
  }

  /** @param {PointerEvent} start */
  function startDragging(start) {
    dragged = false;
    const before = zoom;
    /** @param {PointerEvent} event */
    const drag = (event) => {
      const [x, y] = [event.clientX - start.clientX, event.clientY - start.clientY];
      if (zoom.k === 1 || Math.hypot(x, y) < 4) return;
      dragged = true;
      move({ ...zoom, x: before.x + x, y: before.y + y });
    };
    const end = () => {
      window.removeEventListener("pointermove", drag);
      window.removeEventListener("pointerup", end);
    };
    window.addEventListener("pointermove", drag);
    window.addEventListener("pointerup", end);
  }

  node.addEventListener("click", (event) => !dragged && headAt(event) >= 0 && choose(headAt(event)));
  node.addEventListener("pointerdown", startDragging);
  node.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const box = node.getBoundingClientRect();
      scale(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    },
    { passive: false },
  );
  node.addEventListener("pointermove", (event) => {
    over(headAt(event));
    tip(event, headAt(event) < 0 ? null : say(headAt(event)));
  });
  node.addEventListener("pointerleave", (event) => {
    over(-1);
    tip(event, null);
  });
  node.addEventListener("keydown", (event) => {
    const target = nearestThatWay(points, selected, event.key);
    if (target === null) return;
    event.preventDefault();
    choose(target);
  });
  draw();
  return {
    node,
    select,
    glance,
    scale,
    whole: () => move(WHOLE),
    /** The middle of a head's point; null if it has none. @param {number} index */
    point: (index) => points[index] ?? null,
    zoom: () => zoom,
  };
}

/**
 * Buttons for readers without a wheel.
 * @param {() => Pick<HeadScatter, "scale"|"whole">[]} scatters looked up when one is pressed
 */
export function zoomButtons(scatters) {
  /** @param {string} text @param {string} label @param {(scatter: Pick<HeadScatter, "scale"|"whole">) => void} act */
  const zoom = (text, label, act) => button(text, () => scatters().forEach(act), { "aria-label": label });
  return element(
    "span",
    { class: "toggle" },
    zoom("−", "Zoom out", (scatter) => scatter.scale(1 / STEP)),
    zoom("+", "Zoom in", (scatter) => scatter.scale(STEP)),
    zoom("Whole", "Show the whole picture", (scatter) => scatter.whole()),
  );
}

/** @param {number[]} values @returns {Bounds} */
export function extent(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low < high ? [low, high] : [low - 1, high + 1];
}

/**
 * One scale for both axes, since a map of similar heads shows distances.
 * @param {Bounds[]} bounds @param {Size} size
 * @returns {(place: Place) => Place}
 */
function sameScale([[left, right], [bottom, top]], { width, height }) {
  const unit = Math.min((width - 2 * MARGIN) / (right - left), (height - 2 * MARGIN) / (top - bottom));
  return ([x, y]) => [width / 2 + (x - (left + right) / 2) * unit, height / 2 - (y - (bottom + top) / 2) * unit];
}

/** @param {Bounds[]} bounds @param {Size} size @returns {(place: Place) => Place} */
function ownScales([[left, right], [bottom, top]], { width, height }) {
  const across = (width - 4 * MARGIN) / (right - left);
  const up = (height - 2 * MARGIN) / (top - bottom);
  return ([x, y]) => [1.5 * MARGIN + (x - left) * across, height - MARGIN - (y - bottom) * up];
}

/**
 * The heads with a name that covers neither a point nor another name.
 * @param {(Point|null)[]} points @param {number} radius
 */
export function namesThatFit(points, radius) {
  const taken = points.flatMap((point) =>
    point ? [[point.x - radius, point.y - radius, point.x + radius, point.y + radius]] : [],
  );
  /** @param {number[]} box */
  const isFree = (box) =>
    !taken.some(([left, top, right, bottom]) => box[0] < right && box[2] > left && box[1] < bottom && box[3] > top);
  /** @type {number[]} */
  const fitting = [];
  points.forEach((point, index) => {
    if (!point) return;
    const left = point.x + radius + 1;
    const box = [left, point.y - NAME.height / 2, left + NAME.width, point.y + NAME.height / 2];
    if (!isFree(box)) return;
    taken.push(box);
    fitting.push(index);
  });
  return fitting;
}

/**
 * The nearest head in the direction of an arrow key; null for other keys and at the edge.
 * @param {(Point|null)[]} points @param {number} from @param {string} key
 * @returns {number|null}
 */
export function nearestThatWay(points, from, key) {
  const way = WAYS[key];
  const start = points[from];
  if (!way || !start) return null;
  /** @type {number|null} */
  let best = null;
  let least = Infinity;
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
