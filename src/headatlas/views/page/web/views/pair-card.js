/** The card of a comparison: the chosen head of one side beside its match on the other. */

import { ATTENDS_TO } from "../data/measures.js";
import { element } from "../dom.js";
import { remark, section, strip, stripTable } from "../pictures/strips.js";
import { anyOf } from "../view.js";

const MOST_RELATIONS = 8;
const STRIP_WIDTH = 72;
const WHY = {
  behaviour: "Matched by a label that both have. Their attention to the same text was not compared.",
  place: "The head in the same place. Their attention to the same text was not compared.",
  none: "No head of the other model is left to match it.",
};

/** @param {Context<Comparison>} context @returns {Panel} */
export function createPairCard({ atlas, store, palette }) {
  const [a, b] = atlas.sides;
  const title = element("h2", { "aria-live": "polite" });
  const content = element("div");
  const node = element("aside", { class: "card", "aria-label": "The chosen heads" }, title, content);

  function draw() {
    const { head, other, side } = store.shown;
    const colours = palette();
    const dots = [colours.accent, colours.picked];
    title.replaceChildren(
      atlas.headName(0, head),
      element("span", { class: "faint", text: " ↔ " }),
      atlas.headName(1, other),
    );
    const names = atlas.sides.map(({ content: { name } }, place) => modelKey(dots[place], "AB"[place], name));
    const match = atlas.pairs.match(side, side ? other : head);
    const parts = [
      element("p", { class: "models" }, ...names),
      section("Match", ...matchLines(match)),
      labels(atlas, head, other),
      strips(
        "What they attend to",
        a.measures.filter(({ card }) => card === ATTENDS_TO),
      ),
      strips("Relations that differ most", atlas.relationsThatDiffer(head, other).slice(0, MOST_RELATIONS)),
    ];
    content.replaceChildren(...parts.filter((part) => part !== null));

    /** @param {Match} match */
    function matchLines(match) {
      if (match.why !== "distance") return [remark(WHY[match.why])];
      const rows = atlas.distancesBeside(match, head, other).map(([label, value]) => {
        const name = element("th", { scope: "row", text: label });
        return element("tr", {}, name, element("td", { class: "number", text: value }));
      });
      return [stripTable(rows)];
    }

    /** @param {string} heading @param {Measure[]} measures */
    function strips(heading, measures) {
      const rows = measures.flatMap((measure) => {
        const same = b.measureOf.get(measure.id);
        if (!same) return [];
        const [ofA, ofB] = [valueAt(measure, head), valueAt(same, other)];
        if (!ofA && !ofB) return [];
        /** @type {[number, string, Measure?][]} */
        const marks = [
          [head, dots[0]],
          [other, dots[1], same],
        ];
        return [
          element(
            "tr",
            {},
            element("th", { scope: "row", text: measure.short }),
            element("td", { class: "number", text: ofA || "–" }),
            element("td", { class: "number", text: ofB || "–" }),
            element("td", {}, strip(measure, marks, colours, `A ${ofA}, B ${ofB}`, STRIP_WIDTH)),
          ),
        ];
      });
      if (!rows.length) return null;
      /** @param {string} text */
      const column = (text) => element("th", { scope: "col", class: "number", text });
      const above = element("tr", {}, element("td"), column("A"), column("B"), element("td"));
      const table = element(
        "table",
        { class: "strips two" },
        element("thead", {}, above),
        element("tbody", {}, ...rows),
      );
      return section(heading, table);
    }
  }

  return {
    node,
    update(_shown, changed) {
      if (anyOf(changed, "head", "other", "theme", "view")) draw();
    },
  };
}

/** @param {Measure} measure @param {number} index */
function valueAt({ values, format }, index) {
  const value = values[index];
  return value === undefined || Number.isNaN(value) ? "" : format(value);
}

/** @param {string} colour @param {string} side @param {string} name of the model */
function modelKey(colour, side, name) {
  const dot = element("span", { class: "dot", "aria-hidden": "true" });
  dot.style.background = colour;
  const model = element("span", { class: "model", text: name });
  return element("span", { class: "key", title: name }, dot, element("b", { text: side }), model);
}

/** @param {Comparison} atlas @param {number} head @param {number} other */
function labels(atlas, head, other) {
  if (!atlas.sides.some(({ behaviours }) => behaviours.length)) return null;
  const { both, a, b } = atlas.labels(head, other);
  /** @type {[string, string[]][]} */
  const groups = [
    ["both", both],
    ["A alone", a],
    ["B alone", b],
  ];
  const lines = groups
    .filter(([, list]) => list.length)
    .map(([who, list]) => {
      const chips = list.map((text) => element("span", { class: "chip", text }));
      return element("p", { class: "labels" }, element("span", { class: "what", text: who }), ...chips);
    });
  return section("Behaviour", ...(lines.length ? lines : [remark("None found for either head.")]));
}
