/** Which heads matter for a prediction: each removed or cut alone, the largest change first. */

import { changeOf, ranked } from "../data/effects.js";
import { counted, percent } from "../data/frames.js";
import { button, element, svg, visible } from "../dom.js";

const MOST = 10; // heads listed
const BAR = { width: 120, height: 14 };

/** @typedef {import("../data/effects.js").HeadEffects} HeadEffects */

/** What is followed, in words. @param {string[]} targets */
export function followed(targets) {
  if (targets.length > 3) return `the ${targets.length} tokens`;
  return targets.map((token) => `“${visible(token)}”`).join(" ");
}

/**
 * @param {HeadEffects} effects @param {Heads} heads
 * @param {{colours: Palette, removed: Set<number>, current: number, byCut: boolean,
 *          choose: (head: number) => void, remove: (head: number) => void}} options
 */
export function effectList(effects, heads, { colours, removed, current, byCut, choose, remove }) {
  const order = ranked(effects);
  const most = Math.max(1e-9, ...order.slice(0, 1).map((head) => Math.abs(changeOf(effects, head))));
  const rows = order.slice(0, MOST).map((head) => {
    const change = changeOf(effects, head);
    const name = heads.name(head);
    const gone = removed.has(head);
    return element(
      "tr",
      { "aria-current": head === current ? "true" : null },
      element("th", { scope: "row" }, button(name, () => choose(head), { class: "link" })),
      element("td", {}, bar(change / most, colours)),
      element("td", { class: "number", text: changeText(effects, head) }),
      element("td", { class: "number faint", text: nats(effects.kl[head]) }),
      element("td", {}, button(gone ? "Restore" : "Remove", () => remove(head), { class: "quiet" })),
    );
  });
  const how = byCut ? "cut in it alone" : "without it alone";
  const titles = ["Head", "", how, "KL, nats", ""];
  const columns = titles.map((text) => element("th", { text, scope: "col" }));
  const { known } = effects;
  const done = known < heads.total ? `${counted(known)} of ${counted(heads.total)} heads tried …` : "";
  const head = element("thead", {}, element("tr", {}, ...columns));
  return [
    element("table", { class: "effects" }, head, element("tbody", {}, ...rows)),
    element("p", { class: "remark", role: "status", text: done || caution(effects, order, byCut) }),
  ];
}

/**
 * What the largest effects are to be judged by.
 * @param {HeadEffects} effects @param {number[]} order @param {boolean} byCut
 */
function caution(effects, order, byCut) {
  const most = (/** @type {number} */ part) => {
    const change = nats(Math.abs(changeOf(effects, order[Math.floor(order.length / part)])));
    return change.startsWith("<") ? change.replace("<", "less than") : `at most ${change}`;
  };
  const tried = counted(order.length);
  return [
    `Of ${tried} heads, half change the log probability by ${most(2)} nats and nine in ten by ${most(10)}.`,
    `The head at the top is the largest of ${tried} tries on one text: headatlas ablate tests heads on many.`,
    byCut ? "" : "A removed head's output is 0.",
    "Effects of heads do not add up.",
  ].join(" ");
}

/** @param {number} value */
function nats(value) {
  return value < 0.0005 ? "< 0.001" : value.toFixed(3);
}

/**
 * Probability before and after; of several tokens, their geometric mean.
 * @param {HeadEffects} effects @param {number} head
 */
export function changeText({ before, after }, head) {
  const [first, then] = [Math.exp(before), Math.exp(after[head])];
  const digits = first < 0.1 || first > 0.99 ? 2 : 1;
  return `${percent(first, digits)} → ${percent(then, digits)}`;
}

/**
 * A bar from the middle, to the left if the prediction needs the head.
 * @param {number} share -1 to 1 @param {Palette} colours
 */
function bar(share, colours) {
  const { width, height } = BAR;
  const [middle, length] = [width / 2, (Math.abs(share) * width) / 2];
  const box = { x: share < 0 ? middle - length : middle, y: 2, width: length, height: height - 4, rx: 1.5 };
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    svg("rect", { ...box, fill: share < 0 ? colours.accent : colours.picked }),
    svg("path", { d: `M${middle} 0V${height}`, stroke: colours.none }),
  );
}
