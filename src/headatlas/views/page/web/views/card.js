/** The head card: all that the atlas knows of the chosen head, beside every view. */

import { percent } from "../data/frames.js";
import { antecedentsOf, evidenceOf, nearestOf, relationsOf } from "../data/head-facts.js";
import { ATTENDS_TO, canDiffer, rank, scaled } from "../data/measures.js";
import { button, element, svg } from "../dom.js";
import { headGrid } from "../pictures/head-grid.js";
import { STRIP, remark, section, strip, stripTable } from "../pictures/strips.js";
import { anyOf } from "../view.js";

const RELATIONS =
  "Bar: accuracy with 95 % interval. Line: best fixed offset. → the dependent attends to its head, " +
  "← the head to its dependent.";
const STRIPS = "Ticks: all heads, smaller values on the left. Dot: this head.";
const ANTECEDENTS = "Line: always the nearest mention.";
const LAST = "More";

/** @param {Context} context @returns {Panel} */
export function createCard({ atlas, store, palette }) {
  const { heads } = atlas;
  const listedApart = [ATTENDS_TO, LAST];
  const headings = [...new Set(atlas.measures.flatMap(({ card }) => card ?? []))].filter(
    (heading) => !listedApart.includes(heading),
  );
  const title = element("h2", { "aria-live": "polite" });
  const place = element("div", { class: "locator" });
  const content = element("div");
  const node = element("aside", { class: "card", "aria-label": "The chosen head" }, place, title, content);
  /** @type {import("../pictures/head-grid.js").HeadGrid|null} */
  let locator = null;

  function drawLocator() {
    const pitch = Math.max(8, Math.min(25, Math.floor(300 / heads.widest), Math.floor(220 / heads.layers)));
    const measure = atlas.measureOf.get(store.shown.measure) ?? atlas.measures[0];
    /** @param {number} index */
    const say = (index) => {
      const value = measure ? [`${measure.label}: ${measure.format(measure.values[index])}`] : [];
      return [`Head ${heads.name(index)}`, ...value];
    };
    /** @param {number} head */
    const choose = (head) => store.change({ head });
    const label = "Choose a head: arrow keys move";
    locator = headGrid(heads, { pitch, gap: 2, axes: false, label, id: "locator", choose, say });
    const colours = palette();
    const share = measure ? scaled(measure) : null;
    locator.paint((index) => (share ? colours.shade(share(index)) : colours.empty), colours);
    locator.select(store.shown.head);
    place.replaceChildren(locator.node, element("div", { class: "caption", text: measure?.label ?? "" }));
  }

  function draw() {
    const index = store.shown.head;
    const colours = palette();
    title.textContent = `Head ${heads.name(index)}`;
    /** @param {string} heading */
    const listed = (heading) => strips(atlas, index, colours, heading);
    const parts = [
      behaviours(atlas, index),
      listed(ATTENDS_TO),
      bars("Dependencies", relationsOf(atlas, index), colours, RELATIONS),
      bars("Antecedents", antecedentsOf(atlas, index), colours, ANTECEDENTS),
      ...headings.map(listed),
      listed(LAST),
      nearest(atlas, store, index),
    ];
    content.replaceChildren(...parts.filter((part) => part !== null));
  }

  return {
    node,
    update(shown, changed) {
      if (anyOf(changed, "measure", "theme", "view")) drawLocator();
      else if (changed.has("head")) locator?.select(shown.head);
      if (anyOf(changed, "head", "theme", "view")) draw();
    },
  };
}

/** @param {Atlas} atlas @param {number} index */
function behaviours(atlas, index) {
  const labels = evidenceOf(atlas, index);
  if (!labels) return null;
  if (!labels.length) return section("Behaviour", remark("None found."));
  const items = labels.map(({ label, evidence, state }) => {
    const chip = element("span", state ? { text: `State: ${label} ` } : { class: "chip", text: label });
    return element("li", {}, chip, element("span", { class: "evidence", text: evidence }));
  });
  return section("Behaviour", element("ul", { class: "plain" }, ...items));
}

/**
 * Each measure with the head's value among those of all heads.
 * @param {Atlas} atlas @param {number} index @param {Palette} colours @param {string} heading
 */
function strips(atlas, index, colours, heading) {
  const measures = atlas.measures.filter((measure) => measure.card === heading && canDiffer(measure, index));
  if (!measures.length) return null;
  const rows = measures.map((measure) => {
    const { rank: place, of } = rank(measure, index);
    const label = `rank ${place} of ${of} heads`;
    return element(
      "tr",
      { title: label },
      element("th", { scope: "row", text: measure.short }),
      element("td", { class: "number", text: measure.format(measure.values[index]) }),
      element("td", {}, strip(measure, [[index, colours.picked]], colours, label)),
    );
  });
  return section(heading, stripTable(rows), heading === ATTENDS_TO ? remark(STRIPS) : null);
}

/**
 * Accuracies beside their baselines.
 * @param {string} title @param {Scored[]} scores @param {Palette} colours @param {string} key
 */
function bars(title, scores, colours, key) {
  if (!scores.length) return null;
  return section(title, stripTable(scores.map((score) => barRow(score, colours))), remark(key));
}

/** @param {Scored} score @param {Palette} colours */
function barRow({ label, accuracy, low, high, baseline, best }, colours) {
  const { width, height } = STRIP;
  /** @param {number} share */
  const at = (share) => Number((share * (width - 4) + 2).toFixed(1));
  const box = { x: 2, y: 4, height: height - 8, rx: 2 };
  const bar = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  bar.append(svg("rect", { ...box, width: width - 4, fill: colours.empty }));
  if (accuracy !== null) {
    bar.append(svg("rect", { ...box, width: Math.max(0, at(accuracy) - 2), fill: colours.accent }));
  }
  if (low !== null && high !== null) {
    bar.append(svg("path", { d: `M${at(low)} 8H${at(high)}`, stroke: colours.ink, "stroke-width": 1.4 }));
  }
  if (baseline !== null) {
    bar.append(svg("path", { d: `M${at(baseline)} 1V${height - 1}`, stroke: colours.picked, "stroke-width": 2 }));
  }
  const star = best && element("span", { class: "star", text: " ★", "aria-label": "best head" });
  return element(
    "tr",
    { title: best ? "best head" : "" },
    element("th", { scope: "row" }, label, star),
    element("td", { class: "number", text: percent(accuracy) }),
    element("td", {}, bar),
  );
}

/** @param {Atlas} atlas @param {Store} store @param {number} index */
function nearest(atlas, store, index) {
  const heads = nearestOf(atlas, index);
  if (!heads.length) return null;
  const chips = heads.map(({ index: other, distance }) => {
    const attributes = { class: "chip", title: `distance ${distance}` };
    return button(atlas.heads.name(other), () => store.change({ head: other }), attributes);
  });
  return section("Most similar heads", element("div", { class: "chips" }, ...chips));
}
