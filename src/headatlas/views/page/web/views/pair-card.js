/** The card of a comparison: the chosen head of one side beside its match on the other. */

import { element } from "../dom.js";
import { section, strip } from "../pictures/strips.js";

const SURFACE = ["positions", "token_kinds", "entropy", "max_attention"];
const LEFT_AWAY = /sep_to_sep|other_to_sep|entropy\/cls|highest$/;
const MOST_RELATIONS = 8;
const STRIP_WIDTH = 72;
const WHY = {
  behaviour: "Matched by a label that both have; their attention to one text was not compared.",
  place: "The head in the same place; their attention to one text was not compared.",
  none: "No head of the other side is left for it.",
};

export function createPairCard({ atlas, store, palette }) {
  const [a, b] = atlas.sides;
  const node = element("aside", { class: "card", "aria-label": "The chosen heads" });
  const title = element("h2", { "aria-live": "polite" });
  const content = element("div");
  node.append(title, content);

  function draw() {
    const { head, other, side } = store.shown;
    const colours = palette();
    const dots = [colours.accent, colours.picked];
    title.replaceChildren(
      ...[head, other].flatMap((index, place) => [
        place ? element("span", { class: "faint", text: " ↔ " }) : "",
        named(atlas, place, index),
      ]),
    );
    const parts = [
      element(
        "p",
        { class: "sides" },
        ...atlas.sides.map(({ content: { name } }, place) => key(dots[place], place, name)),
      ),
      section("Match", ...matchLines(atlas, store, atlas.pairs.match(side, side ? other : head))),
      labels(atlas, head, other),
      strips(
        "What they attend to",
        a.measures.filter(({ group, id }) => SURFACE.includes(group) && !LEFT_AWAY.test(id)),
      ),
      strips("Relations that differ most", largest(a, b, head, other).slice(0, MOST_RELATIONS)),
    ];
    content.replaceChildren(...parts.filter(Boolean));

    function strips(heading, measures) {
      const rows = measures
        .filter(({ id }) => b.measureOf.has(id))
        .map((measure) => {
          const its = b.measureOf.get(measure.id);
          const said = [
            [measure, head],
            [its, other],
          ].map(([one, index]) => valueAt(one, index));
          if (said.every((text) => text === "")) return null;
          return element(
            "tr",
            {},
            element("th", { scope: "row", text: shortLabel(measure) }),
            element("td", { class: "number", text: said[0] || "–" }),
            element("td", { class: "number", text: said[1] || "–" }),
            element(
              "td",
              {},
              strip(
                measure,
                [
                  [head, dots[0]],
                  [other, dots[1], its],
                ],
                colours,
                `A ${said[0]}, B ${said[1]}`,
                STRIP_WIDTH,
              ),
            ),
          );
        });
      const there = rows.filter(Boolean);
      if (!there.length) return null;
      const above = element(
        "tr",
        {},
        element("td"),
        element("th", { scope: "col", class: "number", text: "A" }),
        element("th", { scope: "col", class: "number", text: "B" }),
        element("td"),
      );
      return section(
        heading,
        element("table", { class: "strips two" }, element("thead", {}, above), element("tbody", {}, ...there)),
      );
    }
  }

  return {
    node,
    update(_shown, changed) {
      if (["head", "other", "theme", "view"].some((name) => changed.has(name))) draw();
    },
  };
}

/** A head with its side, as title and sentences call it. */
export function named(atlas, side, index) {
  return index < 0 ? `no head of ${"AB"[side]}` : `${"AB"[side]} ${atlas.sides[side].heads.name(index)}`;
}

/** Relations by how far the values of two heads differ, the farthest first; rare ones, which have no best head, are left away. */
export function largest(a, b, head, other) {
  const far = (measure) => Math.abs(measure.values[head] - b.measureOf.get(measure.id).values[other]);
  const common = ({ group, key }) => group === "coreference" || (group === "dependencies" && a.best.has(key.relation));
  return a.measures
    .filter((measure) => common(measure) && b.measureOf.has(measure.id))
    .filter((measure) => !Number.isNaN(far(measure)))
    .sort((one, two) => far(two) - far(one));
}

function shortLabel({ label, group, key }) {
  if (group === "dependencies") return `${key.relation} ${key.direction === "dependent_to_head" ? "→" : "←"}`;
  return label
    .replace(/^(attention to (the )?|antecedent: )/, "")
    .replace("largest weight of a row, mean", "largest weight");
}

function valueAt(measure, index) {
  const value = measure.values[index];
  return value === undefined || Number.isNaN(value) ? "" : measure.format(value);
}

function key(colour, side, name) {
  const dot = element("span", { class: "dot", "aria-hidden": "true" });
  dot.style.background = colour;
  return element(
    "span",
    { class: "key", title: name },
    dot,
    element("b", { text: "AB"[side] }),
    element("span", { class: "model", text: name }),
  );
}

function matchLines(atlas, store, match) {
  const { head } = store.shown;
  if (match.why !== "distance") return [element("p", { class: "remark", text: WHY[match.why] })];
  const { pairs, sides } = atlas;
  const format = sides[0].measureOf.get("match/distance").format;
  const summary = atlas.frames.get("match_summary");
  const mean = summary
    ?.where((row) => summary.get("measure")[row] === "matched_distance")
    .map((row) => summary.get("value")[row])[0];
  const within = summary
    ?.where((row) => summary.get("measure")[row] === "within_a_distance")
    .map((row) => summary.get("value")[row])[0];
  const lines = [["their distance", `${format(match.distance)} nats`]];
  if (mean !== undefined) lines.push(["mean of all matches", format(mean)]);
  if (within !== undefined) lines.push(["two heads of A, mean", format(within)]);
  const own = pairs.said(head, "own");
  if (own !== null) lines.push([`A and B ${sides[0].heads.name(head)}, same place`, format(own)]);
  const nearest = sides[1].heads.index(pairs.said(head, "nearest_layer"), pairs.said(head, "nearest_head"));
  if (nearest >= 0 && nearest !== store.shown.other)
    lines.push([`nearest to it: B ${sides[1].heads.name(nearest)}`, format(pairs.said(head, "nearest"))]);
  const rows = lines.map(([label, value]) =>
    element("tr", {}, element("th", { scope: "row", text: label }), element("td", { class: "number", text: value })),
  );
  return [element("table", { class: "strips" }, element("tbody", {}, ...rows))];
}

function labels(atlas, head, other) {
  if (!atlas.sides.some(({ behaviours }) => behaviours.length)) return null;
  const { both, a, b } = atlas.labels(head, other);
  const line = (title, list) =>
    list.length
      ? element(
          "p",
          { class: "labels" },
          element("span", { class: "what", text: title }),
          ...list.map((text) => element("span", { class: "chip", text })),
        )
      : null;
  const lines = [line("both", both), line("A alone", a), line("B alone", b)].filter(Boolean);
  return section(
    "Behaviour",
    ...(lines.length ? lines : [element("p", { class: "remark", text: "None found for either." })]),
  );
}
