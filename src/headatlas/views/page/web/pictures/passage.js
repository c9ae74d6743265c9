/** Running text with arrows from the words that attend to the words that they attend to: one head at work. */

import { percent } from "../data/frames.js";
import { element, svg, visible } from "../dom.js";

const MOST = 5; // arrows at rest; fewer in a narrow window
const MOST_NARROW = 3;
const NARROW = 640; // pixels
const LEAST = 0.08; // weight of a pair that is drawn at rest
const LEAST_OF_WORD = 0.03; // of a word that is pointed at
const GAP = 30; // pixels above a line of words, for the arrows

/**
 * @typedef {{from: number, to: number, weight: number, fit: string}} Arrow `fit` says why a pair fits the head's role
 */

/**
 * @param {{units: Unit[], weight: (from: number, to: number) => number, rests: (place: number) => boolean,
 *          fit: (from: number, to: number) => string, label: string}} scene
 *   `rests` says whether a unit is one to rest on; `fit` whether a pair is what the head is known for, "" if not
 */
export function passage({ units, weight, rests, fit, label }) {
  const arcs = svg("svg", { class: "arcs", "aria-hidden": "true" });
  const inWords = element("p", { class: "inwords", "aria-live": "polite" });
  const share = units.map((_, from) => sum(units, (to) => (rests(to) ? weight(from, to) : 0)));
  const words = units.map(({ text, word }, place) => {
    const node = element("span", {
      class: word < 0 ? "unit special" : "unit",
      tabindex: place ? -1 : 0,
      role: "button",
      "aria-label": `${visible(text)}: ${percent(share[place])} of its attention rests`,
      text: visible(text),
    });
    node.style.setProperty("--work", percent(1 - share[place]).replace(" ", ""));
    return node;
  });
  const flow = element("div", { class: "flow", role: "group", "aria-label": label, dir: "ltr" });
  words.forEach((word) => flow.append(word, " "));
  flow.append(arcs);
  const strongest = pairs(units, weight, rests, fit);
  let pinned = -1;

  /** The words that one attends to. @param {number} from @returns {Arrow[]} */
  const row = (from) =>
    units
      .map((_, to) => ({ from, to, weight: weight(from, to), fit: fit(from, to) }))
      .filter(({ to, weight: value }) => value >= LEAST_OF_WORD && !rests(to))
      .sort((a, b) => b.weight - a.weight)
      .slice(0, MOST);

  /** @param {Arrow[]} list @param {number} from the word that is pointed at, -1 if none */
  function draw(list, from = -1) {
    const box = flow.getBoundingClientRect();
    const places = words.map((word) => word.getBoundingClientRect());
    const drawn = [...list].sort((a, b) => a.weight - b.weight);
    arcs.replaceChildren(...drawn.flatMap((arrow) => arrowShapes(arrow, places, box)));
    words.forEach((word, place) => {
      word.classList.toggle("here", place === from);
      const most = Math.max(0, ...list.filter(({ to }) => to === place).map(({ weight: value }) => value));
      word.style.setProperty("--received", most ? `${Math.round(8 + 50 * most)}%` : "0%");
    });
    inWords.replaceChildren(...sentence(list, from, units, share));
  }

  const still = () => {
    const most = window.innerWidth < NARROW ? MOST_NARROW : MOST;
    return pinned >= 0 ? draw(row(pinned), pinned) : draw(strongest.slice(0, most));
  };

  /** @param {number} place */
  function pin(place) {
    pinned = pinned === place ? -1 : place;
    still();
  }

  words.forEach((word, place) => {
    word.addEventListener("pointerenter", () => draw(row(place), place));
    word.addEventListener("pointerleave", still);
    word.addEventListener("focus", () => draw(row(place), place));
    word.addEventListener("blur", still);
    word.addEventListener("click", () => pin(place));
    word.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = step && words[place + step];
      if (next) {
        word.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      } else if (event.key === "Enter" || event.key === " ") pin(place);
      else if (event.key === "Escape") {
        pinned = -1;
        word.blur();
      } else if (!step) return;
      event.preventDefault();
    });
  });
  return { node: element("div", { class: "passage" }, flow, inWords), draw: still };
}

/**
 * The strongest pairs, those that fit the role before all others.
 * @param {Unit[]} units @param {(from: number, to: number) => number} weight @param {(place: number) => boolean} rests
 * @param {(from: number, to: number) => string} fit
 */
function pairs(units, weight, rests, fit) {
  /** @type {Arrow[]} */
  const all = [];
  units.forEach((_, from) => {
    units.forEach((_unit, to) => {
      const value = weight(from, to);
      if (value < LEAST || from === to || rests(to) || units[from].word < 0) return;
      all.push({ from, to, weight: value, fit: fit(from, to) });
    });
  });
  return all.sort((a, b) => Number(Boolean(b.fit)) - Number(Boolean(a.fit)) || b.weight - a.weight);
}

/** @param {Arrow} arrow @param {DOMRect[]} places @param {DOMRect} box */
function arrowShapes({ from, to, weight, fit }, places, box) {
  const [start, end] = [places[from], places[to]];
  const [x1, x2] = [start, end].map(({ left, width }) => left + width / 2 - box.left);
  const [y1, y2] = [start, end].map(({ top }) => top - box.top);
  const thick = 1 + 3.2 * weight;
  const size = 4 + 0.7 * thick;
  const attributes = { class: fit ? "fits" : "" };
  let [d, tip, up] = ["", [x2, y2], false];
  if (Math.abs(y1 - y2) < 4) {
    const high = Math.min(GAP - 6, 9 + Math.abs(x1 - x2) * 0.09) * 1.3;
    const aside = (x2 - x1) * 0.15;
    d = `M${x1} ${y1}C${x1 + aside} ${y1 - high} ${x2 - aside} ${y2 - high} ${x2} ${y2 - 4}`;
  } else if (y2 < y1) {
    const foot = end.bottom - box.top;
    d = `M${x1} ${y1}C${x1} ${y1 - 16} ${x2} ${foot + 18} ${x2} ${foot + 4}`;
    [tip, up] = [[x2, foot], true];
  } else {
    d = `M${x1} ${start.bottom - box.top}C${x1} ${start.bottom - box.top + 16} ${x2} ${y2 - 18} ${x2} ${y2 - 4}`;
  }
  const wing = (size / 1.6).toFixed(1);
  const head = `M${tip[0]} ${tip[1]}l-${wing} ${up ? size : -size}h${(2 * Number(wing)).toFixed(1)}z`;
  return [
    svg("path", { d, ...attributes, fill: "none", "stroke-width": thick.toFixed(2), "stroke-linecap": "round" }),
    svg("path", { d: head, class: `${attributes.class} point` }),
  ];
}

/**
 * The arrows in words.
 * @param {Arrow[]} list @param {number} from @param {Unit[]} units @param {number[]} share
 */
function sentence(list, from, units, share) {
  /** @param {number} place */
  const name = (place) => visible(units[place].text);
  const parts = list.flatMap(({ from: start, to, weight, fit }, place) => {
    const distance = Math.abs(start - to);
    const where = distance ? `, ${distance} ${to < start ? "back" : "ahead"}` : ", itself";
    const before = (place ? " · " : "") + (from < 0 ? `${name(start)} → ` : "");
    return [before, element("b", { text: name(to) }), ` ${percent(weight)}${where}${fit ? ` ✓ ${fit}` : ""}`];
  });
  if (from < 0) return parts.length ? ["Strongest pairs: ", ...parts] : ["No pair of words above 8 % here."];
  const rest = `${parts.length ? " · " : ""}at rest ${percent(share[from])}`;
  return [element("b", { text: name(from) }), " looks at: ", ...parts, rest];
}

/** @param {Unit[]} units @param {(place: number) => number} value */
function sum(units, value) {
  return units.reduce((total, _, place) => total + value(place), 0);
}
