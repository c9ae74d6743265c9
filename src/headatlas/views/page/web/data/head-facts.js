/**
 * What the tables say of one head beyond single numbers: labels, relations beside their baselines, its place on the
 * map.
 */

import { percent } from "./frames.js";

export const DIRECTIONS = { dependent_to_head: "dependent → head", head_to_dependent: "head → dependent" };
const MOST_RELATIONS = 6;

/**
 * Labels with their heads, the strongest first; labels of more heads before others. States, such as broad, are not
 * among them: untrained heads are in them too.
 * @param {Map<string, Frame>} frames @param {Heads} heads
 * @returns {Behaviour[]}
 */
export function behavioursOf(frames, heads) {
  const frame = frames.get("behaviours");
  if (!frame?.has("layer", "head", "label", "strength")) return [];
  /** @type {Map<string, number[]>} */
  const labelled = new Map();
  for (const row of frame.sorted(frame.where(), "strength", true)) {
    const index = heads.index(frame.get("layer")[row], frame.get("head")[row]);
    const label = frame.get("label")[row];
    if (index < 0 || label === null || isState(frame.get("kind")?.[row])) continue;
    labelled.set(label, [...(labelled.get(label) ?? []), index]);
  }
  return [...labelled].map(([label, list]) => ({ label, heads: list })).sort((a, b) => b.heads.length - a.heads.length);
}

/**
 * The best head for each relation.
 * @param {Map<string, Frame>} frames @param {Map<string, Measure>} measureOf
 */
export function bestHeads(frames, measureOf) {
  /** @type {Map<string, BestHead>} */
  const best = new Map();
  const frame = frames.get("dependency_best");
  for (const row of frame?.records() ?? []) {
    const measure = `dependencies/${row.relation}/${row.direction}`;
    best.set(row.relation, {
      direction: row.direction,
      layer: row.layer,
      head: row.head,
      said: percent(row.held_out ?? row.accuracy),
      lead: (row.held_out ?? row.accuracy) - (row.baseline ?? 0),
      measure: measureOf.has(measure) ? measure : undefined,
    });
  }
  return best;
}

/**
 * The labels and states of a head with what supports them, the strongest first; null if heads were not labelled.
 * @param {Atlas} atlas @param {number} index
 */
export function evidenceOf({ frames, heads }, index) {
  const frame = frames.get("behaviours");
  if (!frame?.has("layer", "head", "label", "strength")) return null;
  const rows = frame.sorted(rowsOf(frame, heads, index), "strength", true);
  const labels = frame.records(rows);
  return labels.map(({ label, evidence, kind }) => ({ label, evidence: evidence ?? "", state: isState(kind) }));
}

/**
 * The relations for which a head is furthest above the best fixed offset, or least below it.
 * @param {Atlas} atlas @param {number} index
 * @returns {Scored[]}
 */
export function relationsOf({ frames, heads }, index) {
  const [all, best] = [frames.get("dependencies"), frames.get("dependency_best")];
  if (!all || !best) return [];
  const { layer, head } = heads.at(index);
  const bestOf = new Map(best.records().map((row) => [row.relation, row]));
  /** @type {Map<string, {row: Row, lead: number}>} */
  const leads = new Map();
  for (const row of all.records(rowsOf(all, heads, index))) {
    const top = bestOf.get(row.relation);
    if (!top || isSummary(row.relation)) continue;
    const lead = row.accuracy - top.baseline;
    const other = leads.get(row.relation);
    if (!other || other.lead < lead) leads.set(row.relation, { row, lead });
  }
  return [...leads.values()]
    .sort((a, b) => b.lead - a.lead)
    .slice(0, MOST_RELATIONS)
    .map(({ row: { relation, direction, accuracy, low, high } }) => {
      const top = /** @type {Row} */ (bestOf.get(relation));
      const isBest = top.layer === layer && top.head === head;
      const label = `${relation} ${arrow(direction)}`;
      return { label, accuracy, low, high, baseline: top.baseline, best: isBest };
    });
}

/**
 * How often a head finds an antecedent, beside the nearest mention.
 * @param {Atlas} atlas @param {number} index
 * @returns {Scored[]}
 */
export function antecedentsOf({ frames, heads }, index) {
  const frame = frames.get("coreference");
  if (!frame?.has("mention_type", "candidates", "accuracy")) return [];
  const rules = frames.get("coreference_baselines")?.records() ?? [];
  return frame
    .records(rowsOf(frame, heads, index))
    .filter(({ candidates }) => candidates === "preceding")
    .map(({ mention_type: label, accuracy, low, high }) => {
      const rule = rules.find(({ baseline, mention_type: type }) => baseline === "nearest" && type === label);
      return { label, accuracy, low, high, baseline: rule ? rule.accuracy : null, best: false };
    });
}

/** The most similar heads. @param {Atlas} atlas @param {number} index */
export function nearestOf({ content, heads }, index) {
  const list = content.nearest[heads.name(index)] ?? [];
  return list.map(([layer, head, distance]) => ({ index: heads.index(layer, head), distance }));
}

/**
 * The direction in which a head is scored: that of a relation for which no head is better, otherwise that in which it
 * is right more often.
 * @param {Atlas} atlas @param {number} index
 */
export function betterDirection({ best, heads, measureOf }, index) {
  const { layer, head } = heads.at(index);
  for (const [relation, top] of best) {
    if (!isSummary(relation) && top.layer === layer && top.head === head) return top.direction;
  }
  /** @param {string} direction */
  const accuracy = (direction) => measureOf.get(`dependencies/all_but_root/${direction}`)?.values[index] ?? 0;
  return accuracy("head_to_dependent") > accuracy("dependent_to_head") ? "head_to_dependent" : "dependent_to_head";
}

/**
 * Where each head lies on the map of similar heads; null if there is none.
 * @param {Atlas} atlas
 * @returns {([number, number]|null)[]|null}
 */
export function placesOnMap({ frames, heads }) {
  const frame = frames.get("head_map");
  if (!frame?.has("layer", "head", "x", "y")) return null;
  /** @type {([number, number]|null)[]} */
  const places = Array.from({ length: heads.total }, () => null);
  for (const { layer, head, x, y } of frame.records()) {
    const index = heads.index(layer, head);
    if (index >= 0 && x !== null && y !== null) places[index] = [x, y];
  }
  return places;
}

/**
 * The cluster of each head on the map; empty if they were not clustered.
 * @param {Atlas} atlas
 * @returns {Map<number, number>}
 */
export function clustersOf({ frames, heads }) {
  const frame = frames.get("head_map");
  if (!frame?.has("layer", "head", "cluster")) return new Map();
  return new Map(frame.records().map(({ layer, head, cluster }) => [heads.index(layer, head), cluster]));
}

/**
 * What a note beside a head says: its name, its value of a measure, its labels.
 * @param {Atlas} atlas @param {number} index @param {string} measureId
 */
export function describeHead({ heads, measureOf, behaviours }, index, measureId) {
  const measure = measureOf.get(measureId);
  const labels = behaviours.filter((behaviour) => behaviour.heads.includes(index)).map(({ label }) => label);
  const value = measure && !Number.isNaN(measure.values[index]) ? [measure.format(measure.values[index])] : [];
  return [`Head ${heads.name(index)}`, ...value, ...labels];
}

/** Whether a row of the behaviours says how a head attends, and not what it does. @param {unknown} kind */
export function isState(kind) {
  return kind === "state";
}

/** Who attends: → the dependent to its head, ← the head to its dependent. @param {string} direction */
function arrow(direction) {
  return direction === "dependent_to_head" ? "→" : "←";
}

/**
 * Whether a measure says how well heads find a relation that has a best head, or an antecedent.
 * @param {Measure} measure @param {Map<string, BestHead>} best
 */
export function isRelation({ group, key }, best) {
  return group === "coreference" || (group === "dependencies" && best.has(key.relation));
}

/** Whether a name stands for several relations together. @param {string} relation */
function isSummary(relation) {
  return relation.startsWith("all");
}

/** @param {Frame} frame @param {Heads} heads @param {number} index */
function rowsOf(frame, heads, index) {
  const { layer, head } = heads.at(index);
  const [layers, numbers] = [frame.get("layer"), frame.get("head")];
  return frame.where((row) => layers[row] === layer && numbers[row] === head);
}

/**
 * The relations for which the best head is furthest above the best fixed offset; none for findings of other studies.
 * @param {Atlas} atlas @param {string} study @param {number} most
 * @returns {Scored[]}
 */
export function relationLeads({ frames }, study, most) {
  const frame = frames.get("dependency_best");
  if (study !== "dependencies" || !frame?.has("relation", "accuracy", "baseline")) return [];
  return frame
    .records()
    .filter(({ relation }) => !isSummary(relation))
    .sort((a, b) => b.accuracy - b.baseline - (a.accuracy - a.baseline))
    .slice(0, most)
    .map(({ relation: label, accuracy, low, high, baseline }) => {
      return { label, accuracy, low, high, baseline, best: true };
    });
}
