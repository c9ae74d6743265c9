/** The head card: all that the atlas knows of the chosen head, beside every view. */

import { element, svg } from "../dom.js";
import { percent } from "../data/frames.js";
import { headGrid } from "../pictures/head-grid.js";
import { range, rank } from "../data/measures.js";
import { STRIP, section, strip } from "../pictures/strips.js";

const SURFACE = ["positions", "token_kinds", "entropy", "max_attention"];
const ELSEWHERE = new Set([...SURFACE, "gradients", "dependencies", "coreference", "keyphrase_heads", "behaviours"]);
const LEFT_AWAY = new Set([
  "token_kinds/sep_to_sep",
  "token_kinds/other_to_sep",
  "entropy/cls",
  "max_attention/highest",
]);
const MOST_RELATIONS = 6;

export function createCard({ atlas, store, palette }) {
  const { heads } = atlas;
  const node = element("aside", { class: "card", "aria-label": "The chosen head" });
  const title = element("h2", { "aria-live": "polite" });
  const place = element("div", { class: "locator" });
  const content = element("div");
  node.append(place, title, content);
  let small = null;

  const measure = () => atlas.measureOf.get(store.shown.measure) ?? atlas.measures[0];

  function drawLocator() {
    const pitch = Math.max(8, Math.min(25, Math.floor(300 / heads.widest), Math.floor(220 / heads.layers)));
    const shown = measure();
    const say = (index) => [
      `Head ${heads.name(index)}`,
      ...(shown ? [`${shown.label}: ${shown.format(shown.values[index])}`] : []),
    ];
    const choose = (index) => store.change({ head: index });
    small = headGrid(heads, {
      pitch,
      gap: 2,
      axes: false,
      label: "Choose a head: arrow keys move",
      id: "locator",
      choose,
      say,
    });
    const colours = palette();
    const [low, high] = shown ? range(shown) : [0, 1];
    small.paint(
      (index) => (shown ? colours.shade((shown.values[index] - low) / (high - low)) : colours.empty),
      colours,
    );
    small.select(store.shown.head);
    place.replaceChildren(small.node, element("div", { class: "caption", text: shown ? shown.label : "" }));
  }

  function draw() {
    const index = store.shown.head;
    const { layer, head } = heads.at(index);
    title.textContent = `Head ${layer}-${head}`;
    const colours = palette();
    const parts = [
      behaviours(atlas, layer, head),
      strips(
        atlas,
        index,
        colours,
        "What it attends to",
        (one) => SURFACE.includes(one.group) && !LEFT_AWAY.has(one.id),
      ),
      relations(atlas, layer, head, colours),
      antecedents(atlas, layer, head, colours),
      strips(atlas, index, colours, "How much the loss depends on it, |dL/da|", (one) => one.group === "gradients"),
      strips(
        atlas,
        index,
        colours,
        "Keyphrases",
        ({ group, key }) => group === "keyphrase_heads" && key.pooling === "mean" && key.rows === "all",
      ),
      strips(atlas, index, colours, "More", (one) => !ELSEWHERE.has(one.group)),
      nearest(atlas, store, index),
    ];
    content.replaceChildren(...parts.filter(Boolean));
  }

  return {
    node,
    update(shown, changed) {
      if (["measure", "theme", "view"].some((name) => changed.has(name))) drawLocator();
      else if (changed.has("head")) small.select(shown.head);
      if (changed.has("head") || changed.has("theme") || changed.has("view")) draw();
    },
  };
}

function behaviours(atlas, layer, head) {
  const frame = atlas.frames.get("behaviours");
  if (!frame?.has("layer", "head", "label", "strength")) return null;
  const rows = frame.where((row) => frame.get("layer")[row] === layer && frame.get("head")[row] === head);
  const said = frame.sorted(rows, "strength", true).map((row) => {
    const evidence = frame.has("evidence") ? frame.get("evidence")[row] : "";
    return element(
      "li",
      {},
      element("span", { class: "chip", text: frame.get("label")[row] }),
      element("span", { class: "evidence", text: evidence ?? "" }),
    );
  });
  return section(
    "Behaviour",
    said.length ? element("ul", { class: "plain" }, ...said) : element("p", { class: "remark", text: "None found." }),
  );
}

/** Each measure with the head's value among those of all heads. */
function strips(atlas, index, colours, title, chosen) {
  const measures = atlas.measures.filter(chosen).filter((measure) => !Number.isNaN(measure.values[index]));
  if (!measures.length) return null;
  const rows = measures.map((measure) => {
    const { rank: place, of } = rank(measure, index);
    return element(
      "tr",
      { title: `${place}. of ${of} heads` },
      element("th", { scope: "row", text: measure.label.replace(/^(attention to (the )?|\|dL\/da\| towards )/, "") }),
      element("td", { class: "number", text: measure.format(measure.values[index]) }),
      element("td", {}, strip(measure, [[index, colours.picked]], colours, `${place}. of ${of} heads`)),
    );
  });
  return section(title, element("table", { class: "strips" }, element("tbody", {}, ...rows)));
}

/** Relations at which the head lies furthest above the best fixed offset, or least below it. */
function relations(atlas, layer, head, colours) {
  const [all, best] = [atlas.frames.get("dependencies"), atlas.frames.get("dependency_best")];
  if (!all || !best) return null;
  const baselines = new Map(best.where(() => true).map((row) => [best.get("relation")[row], row]));
  const own = all.where((row) => all.get("layer")[row] === layer && all.get("head")[row] === head);
  const leads = new Map();
  for (const row of own) {
    const relation = all.get("relation")[row];
    if (!baselines.has(relation) || relation.startsWith("all")) continue;
    const lead = all.get("accuracy")[row] - best.get("baseline")[baselines.get(relation)];
    if (!leads.has(relation) || leads.get(relation).lead < lead) leads.set(relation, { row, lead });
  }
  const chosen = [...leads].sort((a, b) => b[1].lead - a[1].lead).slice(0, MOST_RELATIONS);
  if (!chosen.length) return null;
  const lines = chosen.map(([relation, { row }]) => {
    const top = baselines.get(relation);
    const champion = best.get("layer")[top] === layer && best.get("head")[top] === head;
    const value = {
      accuracy: all.get("accuracy")[row],
      low: all.get("low")[row],
      high: all.get("high")[row],
      baseline: best.get("baseline")[top],
    };
    const way = all.get("direction")[row] === "dependent_to_head" ? "→" : "←";
    return barRow(`${relation} ${way}`, value, colours, champion ? "best head" : "");
  });
  return section(
    "Dependencies",
    element("table", { class: "strips" }, element("tbody", {}, ...lines)),
    element("p", {
      class: "remark",
      text: "Bar: accuracy with 95 % interval; line: best fixed offset. → the dependent attends, ← the head does.",
    }),
  );
}

function antecedents(atlas, layer, head, colours) {
  const frame = atlas.frames.get("coreference");
  if (!frame?.has("mention_type", "candidates", "accuracy")) return null;
  const rules = atlas.frames.get("coreference_baselines");
  const baseline = (type) => {
    const row = rules?.where(
      (one) => rules.get("baseline")[one] === "nearest" && rules.get("mention_type")[one] === type,
    )[0];
    return row === undefined ? null : rules.get("accuracy")[row];
  };
  const own = frame.where(
    (row) =>
      frame.get("layer")[row] === layer &&
      frame.get("head")[row] === head &&
      frame.get("candidates")[row] === "preceding",
  );
  if (!own.length) return null;
  const lines = own.map((row) => {
    const type = frame.get("mention_type")[row];
    const value = {
      accuracy: frame.get("accuracy")[row],
      low: frame.get("low")[row],
      high: frame.get("high")[row],
      baseline: baseline(type),
    };
    return barRow(type, value, colours, "");
  });
  return section(
    "Antecedents",
    element("table", { class: "strips" }, element("tbody", {}, ...lines)),
    element("p", { class: "remark", text: "Line: always the nearest mention." }),
  );
}

function barRow(label, { accuracy, low, high, baseline }, colours, mark) {
  const { width, height } = STRIP;
  const at = (share) => (share * (width - 4) + 2).toFixed(1);
  const bar = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  bar.append(svg("rect", { x: 2, y: 4, width: width - 4, height: height - 8, fill: colours.empty, rx: 2 }));
  if (accuracy !== null)
    bar.append(
      svg("rect", {
        x: 2,
        y: 4,
        width: Math.max(0, at(accuracy) - 2),
        height: height - 8,
        fill: colours.accent,
        rx: 2,
      }),
    );
  if (low !== null && high !== null)
    bar.append(svg("path", { d: `M${at(low)} 8H${at(high)}`, stroke: colours.ink, "stroke-width": 1.4 }));
  if (baseline !== null)
    bar.append(svg("path", { d: `M${at(baseline)} 1V${height - 1}`, stroke: colours.picked, "stroke-width": 2 }));
  return element(
    "tr",
    { title: mark },
    element(
      "th",
      { scope: "row" },
      label,
      mark ? element("span", { class: "star", text: " ★", "aria-label": mark }) : "",
    ),
    element("td", { class: "number", text: percent(accuracy) }),
    element("td", {}, bar),
  );
}

function nearest(atlas, store, index) {
  const list = atlas.content.nearest[atlas.heads.name(index)];
  if (!list?.length) return null;
  const chips = list.map(([layer, head, distance]) => {
    const other = atlas.heads.index(layer, head);
    return element("button", {
      type: "button",
      class: "chip",
      text: `${layer}-${head}`,
      title: `distance ${distance}`,
      on: { click: () => store.change({ head: other }) },
    });
  });
  return section("Heads most alike", element("div", { class: "chips" }, ...chips));
}
