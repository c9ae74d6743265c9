/**
 * Two atlases in one page: each side an atlas with the same labels and scales as the other, and their heads matched.
 */

import { Atlas } from "./atlas.js";
import { numberFormat } from "./frames.js";
import { isRelation } from "./head-facts.js";
import { range } from "./measures.js";
import { Pairs } from "./pairs.js";

const DISTANCES = [
  ["distance", "distance of matched heads (nats)"],
  ["own", "distance of the heads in this place (nats)"],
];

/** @param {number} value */
export const nats = (value) => value.toFixed(3);

export class Comparison extends Atlas {
  /** @type {Atlas[]} */
  sides = [];
  /** The layer or the behaviour. */
  colour = "layer";
  views = { measure: "sides", behaviour: "sides" };
  pairs = new Pairs(undefined, undefined, [this.heads, this.heads]);

  async open() {
    await super.open();
    this.sides = await Promise.all((this.content.sides ?? []).map((side) => new Atlas(side).open()));
    const heads = this.sides.map((side) => side.heads);
    this.pairs = new Pairs(this.frames.get("head_matches"), this.frames.get("behaviour_matches"), heads);
    if (this.pairs.measured) addDistances(this.sides, this.pairs);
    alignMeasures(this.sides);
    alignBehaviours(this.sides);
    const [a, b] = this.sides;
    this.measures = a.measures.filter(({ id }) => b.measureOf.has(id));
    this.measureOf = new Map(this.measures.map((measure) => [measure.id, measure]));
    this.behaviours = a.behaviours.filter(({ heads }) => heads.length);
    this.best = a.best;
    if (this.behaviours.length) this.colour = "behaviour";
    return this;
  }

  /** @param {Change} parts */
  complete(parts) {
    return this.pairs.complete(parts);
  }

  /** @param {string} query */
  named(query) {
    const side = /^\s*b\b/i.test(query) ? [1] : /^\s*a\b/i.test(query) ? [0] : [0, 1];
    const name = query.replace(/^\s*[ab]?\s*(head\s+)?/i, "");
    return side.flatMap((number) => {
      const { heads } = this.sides[number];
      const index = heads.parse(name);
      if (index < 0) return [];
      return [
        { label: `Head ${heads.name(index)} of ${"AB"[number]}`, go: number ? { other: index } : { head: index } },
      ];
    });
  }

  /** @param {string} column @param {number} layer @param {number} head */
  choice(column, layer, head) {
    const side = column === "head_b" || column === "nearest_head" ? 1 : 0;
    const index = this.sides[side].heads.index(layer, head);
    if (index < 0) return null;
    return side ? { other: index } : { head: index };
  }

  /** A head with its side, as titles and sentences call it. @param {number} side @param {number} index */
  headName(side, index) {
    return index < 0 ? `no head of ${"AB"[side]}` : `${"AB"[side]} ${this.sides[side].heads.name(index)}`;
  }

  /**
   * The labels of a head of each side: those of both, of A alone, of B alone.
   * @param {number} head @param {number} other
   */
  labels(head, other) {
    const [ofA, ofB] = [head, other].map((index, side) =>
      this.sides[side].behaviours.filter(({ heads }) => heads.includes(index)).map(({ label }) => label),
    );
    return {
      both: ofA.filter((label) => ofB.includes(label)),
      a: ofA.filter((label) => !ofB.includes(label)),
      b: ofB.filter((label) => !ofA.includes(label)),
    };
  }

  /**
   * Relations by how far the values of two heads differ, the furthest first.
   * @param {number} head @param {number} other
   */
  relationsThatDiffer(head, other) {
    const [a, b] = this.sides;
    return a.measures
      .filter((measure) => isRelation(measure, a.best))
      .map((measure) => ({ measure, far: Math.abs(measure.values[head] - valueOf(b, measure.id, other)) }))
      .filter(({ far }) => !Number.isNaN(far))
      .sort((first, second) => second.far - first.far)
      .map(({ measure }) => measure);
  }

  /**
   * The distance of two matched heads beside other distances that put it into perspective.
   * @param {Match} match @param {number} head @param {number} other
   * @returns {[label: string, value: string][]}
   */
  distancesBeside({ distance }, head, other) {
    const [a, b] = this.sides;
    const summary = new Map((this.frames.get("match_summary")?.records() ?? []).map((row) => [row.measure, row.value]));
    const nearest = b.heads.index(this.pairs.said(head, "nearest_layer"), this.pairs.said(head, "nearest_head"));
    /** @type {[string, number|null|undefined][]} */
    const lines = [
      ["mean over all matches", summary.get("matched_distance")],
      ["two heads of A, mean", summary.get("within_a_distance")],
      [`A and B ${a.heads.name(head)}, same place`, this.pairs.said(head, "own")],
    ];
    if (nearest >= 0 && nearest !== other) {
      lines.push([`nearest to it: B ${b.heads.name(nearest)}`, this.pairs.said(head, "nearest")]);
    }
    const known = lines.flatMap(([label, value]) =>
      value === null || value === undefined ? [] : [[label, nats(value)]],
    );
    return /** @type {[string, string][]} */ ([["their distance", `${nats(distance ?? NaN)} nats`], ...known]);
  }
}

/** @param {Atlas} atlas @param {string} id @param {number} index */
function valueOf({ measureOf }, id, index) {
  return measureOf.get(id)?.values[index] ?? NaN;
}

/**
 * The distance of heads from their match, and from the head in their place, as measures of both sides.
 * @param {Atlas[]} sides @param {Pairs} pairs
 */
function addDistances(sides, pairs) {
  for (const [column, label] of DISTANCES) {
    sides.forEach((side, number) => {
      const values = pairs.values(number, column);
      if (values.every(Number.isNaN)) return;
      const id = `match/${column}`;
      const about = { label, short: label, unit: "nats", main: false, card: null, panel: false };
      const measure = { ...about, id, group: "matched heads", key: {}, values, format: nats, share: false };
      side.measures.unshift(measure);
      side.measureOf.set(id, measure);
    });
  }
}

/** One range for a measure that both sides have, so that a shade means the same on both. @param {Atlas[]} sides */
export function alignMeasures([a, b]) {
  for (const measure of a.measures) {
    const other = b.measureOf.get(measure.id);
    if (!other) continue;
    const values = Float64Array.of(...measure.values, ...other.values);
    const limits = range({ ...measure, values });
    const format = measure.share || measure.format === nats ? measure.format : numberFormat(values);
    Object.assign(measure, { limits, format });
    Object.assign(other, { limits, format });
  }
}

/**
 * The same labels in the same order on both sides, so that a colour means the same; labels of more heads first.
 * @param {Atlas[]} sides
 */
export function alignBehaviours(sides) {
  /** @type {Map<string, number>} */
  const total = new Map();
  for (const { behaviours } of sides) {
    for (const { label, heads } of behaviours) total.set(label, (total.get(label) ?? 0) + heads.length);
  }
  const labels = [...total].sort((first, second) => second[1] - first[1]).map(([label]) => label);
  for (const side of sides) {
    const labelled = new Map(side.behaviours.map(({ label, heads }) => [label, heads]));
    side.behaviours = labels.map((label) => ({ label, heads: labelled.get(label) ?? [] }));
  }
}
