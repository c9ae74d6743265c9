/** What the layers know: mixing weights over differential scores, the order of tasks, and targets that move. */

import { element, select, toggle } from "../dom.js";
import { examplePicture } from "../pictures/layer-example.js";
import { mixPicture } from "../pictures/layer-mix.js";
import { orderTable } from "../pictures/layer-order.js";
import { savers } from "../saving.js";

const MEASURES = [
  ["centre_of_gravity", "centre of gravity"],
  ["expected_layer", "expected layer"],
  ["expected_clipped", "expected layer, harm as 0"],
];
const WEIGHTS = { pretrained: "as trained", random: "random weights" };

export const layersView = { name: "layers", title: "Layers", create };

/** The rows of a frame as objects. */
function records(frame) {
  if (!frame) return [];
  return frame
    .where(() => true)
    .map((row) => Object.fromEntries(frame.columns.map(({ name }) => [name, frame.get(name)[row]])));
}

const distinct = (rows, name) => [...new Set(rows.map((row) => row[name]))];

function create({ atlas, palette, room }) {
  const tables = Object.fromEntries(
    ["layer_mix", "layer_summary", "layer_order", "layer_examples"].map((name) => [
      name,
      records(atlas.frames.get(name)),
    ]),
  );
  const kinds = distinct(
    tables.layer_summary.map(({ mix, weights }) => ({ kind: `${mix}/${weights}` })),
    "kind",
  );
  const chosen = { kind: kinds[0], measure: MEASURES[0][0], task: distinct(tables.layer_examples, "task")[0] };
  const node = element("section", { class: "view layers", "aria-label": "Layers" });
  const parts = ["mix", "order", "examples"].map(() => element("div"));
  node.append(...parts);

  const kindName = (kind) => {
    const [mix, weights] = kind.split("/");
    return `${mix}, ${WEIGHTS[weights] ?? weights}`;
  };

  function drawMix(place) {
    const [mix, weights] = chosen.kind.split("/");
    const mine = (row) => row.mix === mix && row.weights === weights;
    const picture = mixPicture(
      tables.layer_mix.filter(mine),
      tables.layer_summary.filter(mine),
      room().width - 30,
      palette(),
    );
    const stage = element("div", { class: "stage" }, picture);
    const choose = toggle(
      "What is mixed",
      kinds.map((kind) => [kind, kindName(kind)]),
      chosen.kind,
      (kind) => ((chosen.kind = kind), drawMix(place)),
    );
    place.replaceChildren(
      element(
        "div",
        { class: "heading" },
        element("h2", { text: "Where each task is solved" }),
        savers(
          () => `layers-${mix}-${weights}`,
          () => picture,
          () => palette().paper,
        ),
      ),
      kinds.length > 1 ? element("div", { class: "controls" }, choose) : "",
      stage,
      element("p", {
        class: "remark",
        text: "Full bars: weights of the mix over all layers. Outlines: what a layer adds to the score of probes that see it and those below it, as a share of all gains; below the line it harms. Full line: centre of gravity; dashed: expected layer; shaded: 95 % intervals.",
      }),
    );
  }

  function drawOrder(place) {
    const rows = tables.layer_order.filter(({ mix, measure }) => mix === "layers" && measure === chosen.measure);
    if (!tables.layer_order.length) return;
    const summary = tables.layer_summary.filter(({ mix, weights }) => mix === "layers" && weights === "pretrained");
    place.replaceChildren(
      element("h2", { text: "Which task lies below which" }),
      element(
        "div",
        { class: "controls" },
        toggle("By", MEASURES, chosen.measure, (measure) => ((chosen.measure = measure), drawOrder(place))),
      ),
      element("div", { class: "table-body" }, orderTable(rows, summary, chosen.measure)),
      element("p", {
        class: "remark",
        text: "The share of resamplings, of texts and seeds, in which the task of the row lies below that of the column.",
      }),
    );
  }

  function drawExamples(place) {
    if (!tables.layer_examples.length) return;
    const mine = tables.layer_examples.filter(({ task }) => task === chosen.task);
    const pictures = distinct(mine, "rank").map((rank) =>
      examplePicture(
        mine.filter((row) => row.rank === rank),
        room().width - 60,
        palette(),
      ),
    );
    const tasks = distinct(tables.layer_examples, "task").map((task) => [task, task]);
    place.replaceChildren(
      element("h2", { text: "Targets whose decision moves" }),
      element(
        "div",
        { class: "controls" },
        select("Task", [["", tasks]], chosen.task, (task) => ((chosen.task = task), drawExamples(place))),
      ),
      element("div", { class: "stage moving" }, ...pictures),
    );
  }

  return {
    node,
    update(_shown, changed) {
      if (!["view", "theme", "size"].some((name) => changed.has(name))) return;
      [drawMix, drawOrder, drawExamples].forEach((draw, place) => draw(parts[place]));
    },
  };
}
