/**
 * The overview. Of an atlas: every head by what it does, the findings that matter, one head at work, and the rest in
 * folds. Of a comparison or of layers: the findings in sentences, and how measures run through the layers.
 */

import { NO_ROLE, ROLES } from "../data/roles.js";
import { button, element, unbroken } from "../dom.js";
import { remark } from "../pictures/strips.js";
import { anyOf, view } from "../view.js";
import { headAtWork } from "./head-at-work.js";
import { layerCharts } from "./layer-charts.js";
import { openingFindings } from "./opening-findings.js";
import { openingWall } from "./opening-wall.js";

const MANY = 16; // heads of a layer, from which the wall takes more of the width
const BOTH = "A: blue circles, solid line. B: orange squares, broken line. Lines are the means of layers.";
const LABELS = "Each label names the figures behind it: point at a head, or open its card.";

/** @typedef {import("../view.js").Shell<Atlas>} OverviewShell */

export const overviewView = view("overview", "Overview", "Overview", (shell) =>
  shell.atlas.labelled ? opening(shell) : summary(shell),
);

/** @param {OverviewShell} shell @returns {Update} */
function opening(shell) {
  const { atlas, store, node, stage } = shell;
  const { content } = atlas;
  const wall = openingWall(shell);
  const work = headAtWork(shell);
  const findings = openingFindings(shell, () => work.node.scrollIntoView({ block: "nearest", behavior: "smooth" }));
  const charts = layerCharts(shell);
  const list = lists(shell);
  const caveats = fold(`${content.caveats.length} caveats`, list(content.caveats));
  const saveCharts = element(
    "div",
    { class: "heading" },
    shell.savers(() => "layers"),
  );
  const openingPair = element("div", { class: "opening" }, wall.node, findings.node);
  if (atlas.heads.widest > MANY) openingPair.style.setProperty("--left", "860fr");
  const layers = fold("Through the layers", saveCharts, stage);
  layers.addEventListener("toggle", () => layers.open && charts.draw());
  node.append(
    element("div", { class: "about" }, content.brief ?? content.lead, caveats),
    content.warnings?.length ? element("div", { class: "warnings" }, list(content.warnings)) : "",
    openingPair,
    work.node,
    element(
      "div",
      { class: "folds" },
      fold(`All ${content.findings.length} findings`, list(content.findings)),
      charts.any ? layers : "",
      fold("How labels are decided", howDecided(content)),
      fold("Data and method", list([content.lead, ...aboutExamples(content), ...content.notes])),
    ),
  );
  return async (shown, changed) => {
    const redraw = anyOf(changed, "view", "theme", "size");
    if (redraw) {
      findings.draw();
      wall.draw();
      if (layers.open) charts.draw();
    } else {
      if (changed.has("only")) wall.filter();
      if (changed.has("head")) {
        wall.select(shown.head);
        charts.mark();
      }
      if (changed.has("card")) {
        wall.draw();
        work.drawTools();
        work.settle();
      }
    }
    if (redraw || anyOf(changed, "head", "example")) await work.draw();
  };
}

/** @param {OverviewShell} shell @returns {Update} */
function summary(shell) {
  const { atlas, node, stage } = shell;
  const { content } = atlas;
  const charts = layerCharts(shell);
  const list = lists(shell);
  /** @param {string} text */
  const heading = (text) => element("h2", { text });
  const layers = [
    element(
      "div",
      { class: "heading" },
      heading("Through the layers"),
      shell.savers(() => "layers"),
    ),
    stage,
    atlas.sides ? remark(BOTH) : "",
  ];
  node.append(
    element("p", { class: "lead", text: content.lead }),
    heading(atlas.sides ? "What differs" : "What the heads do"),
    list([...(content.warnings ?? []), ...content.findings]),
    ...(charts.any ? layers : []),
    heading("Before you conclude"),
    list(content.caveats),
    heading("About this page"),
    list([...aboutExamples(content), ...content.notes]),
  );
  return (_shown, changed) => {
    if (!charts.any) return;
    if (anyOf(changed, "view", "theme", "size")) charts.draw();
    else if (anyOf(changed, "head", "other")) charts.mark();
  };
}

/** @param {string} title @param {...import("../dom.js").Child} children */
function fold(title, ...children) {
  return element(
    "details",
    { class: "fold" },
    element("summary", { text: title }),
    element("div", { class: "in" }, ...children),
  );
}

/** What each cell of the wall means. @param {Content} content */
function howDecided({ resting }) {
  /** @param {string} name @param {string} says */
  const item = (name, says) => element("li", {}, element("b", { text: name }), ` ${says}.`);
  const roles = Object.entries(ROLES).map(([role, { says }]) => item(role, says));
  const none = Object.entries(NO_ROLE).map(([role, says]) => item(role, says));
  const rests = resting
    ? [item("rests", `puts over ${Math.round(100 * resting.least)} % of its attention on ${resting.on}`)]
    : [];
  return element("div", {}, element("ul", {}, ...roles, ...none, ...rests), remark(LABELS));
}

/** Makes lists of sentences in which the heads that they name can be chosen. @param {OverviewShell} shell */
function lists({ atlas, store }) {
  return (/** @type {string[]} */ sentences) =>
    element("ul", {}, ...sentences.map((sentence) => element("li", {}, ...withHeads(sentence, atlas, store))));
}

/** @param {Content} content */
function aboutExamples({ examples, examples_kept: kept }) {
  if (!kept) return [];
  const number = examples.length < kept ? `${examples.length} of ${kept}` : String(kept);
  return [
    `${number} examples with the attention maps of all heads. Weights are stored in 8 bits, so each may be off by up ` +
      "to 0.2 %. Right and wrong are decided before rounding.",
  ];
}

/**
 * A sentence in which the heads that it names can be chosen.
 * @param {string} sentence @param {Atlas} atlas @param {Store} store
 */
function withHeads(sentence, atlas, store) {
  return unbroken(sentence).split(/(?<![\w.-])(\d+-\d+)(?![\w-])/).map((part, place) => {
    const head = place % 2 ? atlas.heads.parse(part) : -1;
    return head < 0 ? part : button(part, () => store.change({ head }), { class: "link" });
  });
}
