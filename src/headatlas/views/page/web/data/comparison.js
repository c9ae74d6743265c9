/** Two atlases in one page: each side an atlas of its own, brought to the same labels and scales, and their heads matched. */

import { Atlas } from "./atlas.js";
import { numberFormat } from "./frames.js";
import { range } from "./measures.js";
import { Pairs } from "./pairs.js";

const DISTANCES = [
  ["distance", "distance of matched heads (nats)"],
  ["own", "distance of the heads in this place (nats)"],
];

export class Comparison extends Atlas {
  async open() {
    await super.open();
    this.sides = await Promise.all(this.content.sides.map((side) => new Atlas(side).open()));
    this.pairs = new Pairs(
      this.frames.get("head_matches"),
      this.frames.get("behaviour_matches"),
      this.sides.map(({ heads }) => heads),
    );
    if (this.pairs.measured) addDistances(this.sides, this.pairs);
    alignMeasures(this.sides);
    alignBehaviours(this.sides);
    const [a, b] = this.sides;
    this.measures = a.measures.filter(({ id }) => b.measureOf.has(id));
    this.measureOf = new Map(this.measures.map((measure) => [measure.id, measure]));
    this.behaviours = a.behaviours.filter(({ heads }) => heads.length);
    this.best = a.best;
    this.colour = this.behaviours.length ? "behaviour" : "layer";
    this.views = { measure: "sides", behaviour: "sides" };
    return this;
  }

  complete(parts) {
    return this.pairs.complete(parts);
  }

  /** Heads that a query may mean: of A, and of B. */
  named(query) {
    const side = /^\s*b\b/i.test(query) ? ["other"] : /^\s*a\b/i.test(query) ? ["head"] : ["head", "other"];
    const name = query.replace(/^\s*[ab]?\s*(head\s+)?/i, "");
    return side.flatMap((key) => {
      const { heads } = this.sides[key === "head" ? 0 : 1];
      const index = heads.parse(name);
      return index < 0
        ? []
        : [{ label: `Head ${heads.name(index)} of ${key === "head" ? "A" : "B"}`, go: { [key]: index } }];
    });
  }

  /** What to change where a head that a column of a table names is chosen; null where it is none. */
  choice(column, layer, head) {
    const [key, side] = column === "head_b" || column === "nearest_head" ? ["other", 1] : ["head", 0];
    const index = this.sides[side].heads.index(layer, head);
    return index < 0 ? null : { [key]: index };
  }

  /** The labels of a head of each side: those of both, of A alone, of B alone. */
  labels(head, other) {
    const own = [head, other].map((index, side) =>
      this.sides[side].behaviours.filter((one) => one.heads.includes(index)).map((one) => one.label),
    );
    return {
      both: own[0].filter((label) => own[1].includes(label)),
      a: own[0].filter((label) => !own[1].includes(label)),
      b: own[1].filter((label) => !own[0].includes(label)),
    };
  }
}

const nats = (value) => value.toFixed(3);

/** How far heads are from their match, and from the head in their place, as measures of both sides. */
function addDistances(sides, pairs) {
  for (const [column, label] of DISTANCES) {
    sides.forEach((side, number) => {
      const values = pairs.values(number, column);
      if (values.every(Number.isNaN)) return;
      const measure = { id: `match/${column}`, label, group: "matched heads", values, format: nats, share: false };
      side.measures.unshift(measure);
      side.measureOf.set(measure.id, measure);
    });
  }
}

/** One range for a measure that both sides have, so that a shade means the same on both. */
export function alignMeasures([a, b]) {
  for (const measure of a.measures) {
    const other = b.measureOf.get(measure.id);
    if (!other) continue;
    const limits = range({ ...measure, values: Float64Array.of(...measure.values, ...other.values) });
    const format =
      measure.share || measure.format === nats ? measure.format : numberFormat([...measure.values, ...other.values]);
    Object.assign(measure, { limits, format });
    Object.assign(other, { limits, format });
  }
}

/** The same labels in the same order on both sides, so that a colour means the same; the label of most heads first. */
export function alignBehaviours(sides) {
  const total = new Map();
  for (const { behaviours } of sides)
    for (const { label, heads } of behaviours) total.set(label, (total.get(label) ?? 0) + heads.length);
  const labels = [...total].sort((one, other) => other[1] - one[1]).map(([label]) => label);
  for (const side of sides) {
    const own = new Map(side.behaviours.map((one) => [one.label, one.heads]));
    side.behaviours = labels.map((label) => ({ label, heads: own.get(label) ?? [] }));
  }
}
