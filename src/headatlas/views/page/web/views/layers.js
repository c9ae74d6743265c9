/** What the layers know: mixing weights over differential scores, the order of tasks, and targets that move. */

import { layerTables } from "../data/layers.js";
import { element, select, toggle } from "../dom.js";
import { examplePicture } from "../pictures/layer-example.js";
import { mixPicture } from "../pictures/layer-mix.js";
import { orderTable } from "../pictures/layer-order.js";
import { remark } from "../pictures/strips.js";
import { savers } from "../saving.js";
import { anyOf, view } from "../view.js";

/** @type {Choice[]} */
const MEASURES = [
  ["centre_of_gravity", "centre of gravity"],
  ["expected_layer", "expected layer"],
  ["expected_clipped", "expected layer, losses as 0"],
];
const WEIGHTS = /** @type {Record<string, string>} */ ({ pretrained: "as trained", random: "random weights" });
const ABOUT_MIX =
  "Filled bars: weights of the mix over all layers. Outlines: what a layer adds to the score of probes that see it " +
  "and the layers below it, as a share of all gains; below the line it lowers the score. Solid line: centre of " +
  "gravity; dashed line: expected layer; shaded: 95 % intervals.";
const ABOUT_ORDER =
  "Where the task of the row lies beside that of the column. Settled: p < 0.05, two-sided, over trainings on " +
  "resampled texts, corrected over all pairs. Not compared: one of the two does not beat its majority answer, or " +
  "they were trained on unequal numbers of targets.";

export const layersView = view("layers", "Layers", "Layers", ({ atlas, palette, stageWidth, node }) => {
  const tables = layerTables(atlas);
  const kinds = distinct(tables.summary.map(({ mix, weights }) => `${mix}/${weights}`));
  const tasks = distinct(tables.examples.map(({ task }) => task));
  const chosen = { kind: kinds[0], measure: MEASURES[0][0], task: tasks[0] };
  const places = [drawMix, drawOrder, drawExamples].map((draw) => ({ draw, place: element("div") }));
  node.append(...places.map(({ place }) => place));

  /** @param {HTMLElement} place */
  function drawMix(place) {
    const [mix, weights] = chosen.kind.split("/");
    /** @param {Row[]} rows */
    const ofKind = (rows) => rows.filter((row) => row.mix === mix && row.weights === weights);
    const picture = mixPicture(ofKind(tables.mix), ofKind(tables.summary), stageWidth(), palette());
    /** @type {Choice[]} */
    const choices = kinds.map((kind) => [kind, kindName(kind)]);
    const choose = (/** @type {string} */ kind) => {
      chosen.kind = kind;
      drawMix(place);
    };
    const buttons = savers(
      () => `layers-${mix}-${weights}`,
      () => picture,
      () => palette().paper,
    );
    place.replaceChildren(
      element("div", { class: "heading" }, element("h2", { text: "Where each task is solved" }), buttons),
      kinds.length > 1 ? controls(toggle("What is mixed", choices, chosen.kind, choose)) : "",
      element("div", { class: "stage" }, picture),
      remark(ABOUT_MIX),
    );
  }

  /** @param {HTMLElement} place */
  function drawOrder(place) {
    if (!tables.order.length) return;
    const rows = tables.order.filter(({ mix, measure }) => mix === "layers" && measure === chosen.measure);
    const summary = tables.summary.filter(({ mix, weights }) => mix === "layers" && weights === "pretrained");
    const choose = (/** @type {string} */ measure) => {
      chosen.measure = measure;
      drawOrder(place);
    };
    place.replaceChildren(
      element("h2", { text: "Which task lies below which" }),
      controls(toggle("By", MEASURES, chosen.measure, choose)),
      element("div", { class: "table-body" }, orderTable(rows, summary, chosen.measure)),
      remark(ABOUT_ORDER),
    );
  }

  /** @param {HTMLElement} place */
  function drawExamples(place) {
    if (!tables.examples.length) return;
    const rows = tables.examples.filter(({ task }) => task === chosen.task);
    const pictures = distinct(rows.map(({ rank }) => rank)).map((rank) => {
      const target = rows.filter((row) => row.rank === rank);
      return examplePicture(target, stageWidth() - 30, palette());
    });
    /** @type {Choice[]} */
    const choices = tasks.map((task) => [task, task]);
    const choose = (/** @type {string} */ task) => {
      chosen.task = task;
      drawExamples(place);
    };
    place.replaceChildren(
      element("h2", { text: "Targets with a decision that moves" }),
      controls(select("Task", [["", choices]], chosen.task, choose)),
      element("div", { class: "stage moving" }, ...pictures),
    );
  }

  return (_shown, changed) => {
    if (anyOf(changed, "view", "theme", "size")) places.forEach(({ draw, place }) => draw(place));
  };
});

/** @param {HTMLElement} control */
function controls(control) {
  return element("div", { class: "controls" }, control);
}

/** @param {string} kind */
function kindName(kind) {
  const [mix, weights] = kind.split("/");
  return `${mix}, ${WEIGHTS[weights] ?? weights}`;
}

/** @template T @param {T[]} values */
function distinct(values) {
  return [...new Set(values)];
}
