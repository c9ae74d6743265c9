/** What each head does in one word, for wall and map: the rarest of its labels, and beside it whether it rests. */

import { isState } from "./head-facts.js";

/**
 * Every role that a label may stand for, by name: its family, the sign in its cells, and what such heads do. Labels of
 * other packages, which have no role here, share the last one.
 * @type {Record<string, {family: string, sign: string, says: string}>}
 */
export const ROLES = {
  relation: { family: "Grammar", sign: "R", says: "finds the other end of a dependency more often than any offset" },
  antecedent: { family: "Grammar", sign: "A", says: "looks from a mention to its antecedent" },
  "previous token": { family: "Position", sign: "←", says: "looks one token back" },
  "next token": { family: "Position", sign: "→", says: "looks one token ahead" },
  delimiter: { family: "Form", sign: ",", says: "looks at periods and commas" },
  "other label": { family: "Other", sign: "•", says: "has a label of its own" },
};
/** What cells of heads without a role show, and what such heads do. @type {Record<string, string>} */
export const NO_ROLE = {
  "only rests": "rests; no role found",
  "spreads evenly": "spreads its attention evenly",
  "no label": "has no label: none of the measures describes it",
};
/** States of all heads, with or without a role. */
export const RESTS = "rests";
export const WORKS = "at work";
const ROLE_OF_LABEL = new Map([
  ["coreference", "antecedent"],
  ["periods and commas", "delimiter"],
]);
const RESTING_SHARE = "token_kinds/resting";

/**
 * @typedef {{label: string, role: string, strength: number, evidence: string}} RoleLabel
 * @typedef {{role: string, label: string, labels: RoleLabel[], evidence: string, share: number,
 *            rests: boolean}} HeadRole
 *   `role` is one of ROLES or NO_ROLE, `label` the word that stands for it; `labels` are all that have a role, the one
 *   shown first; `share` is how much of the attention rests, NaN if that was not measured
 */

/**
 * The role of every head.
 * @param {Pick<Atlas, "frames"|"heads"|"content"|"measureOf"|"best">} atlas
 * @returns {HeadRole[]}
 */
export function headRoles({ frames, heads, content, measureOf, best }) {
  const frame = frames.get("behaviours");
  const shares = measureOf.get(RESTING_SHARE)?.values;
  const { least = 1, labels: places = [] } = content.resting ?? {};
  /** @type {RoleLabel[][]} */
  const labelled = Array.from({ length: heads.total }, () => []);
  /** @type {Map<number, string>} */
  const evenly = new Map();
  /** @type {Map<string, Set<number>>} */
  const having = new Map(); // the heads with a role or a label
  for (const row of frame?.has("layer", "head", "label", "strength") ? frame.records() : []) {
    const index = heads.index(row.layer, row.head);
    if (index < 0 || row.label === null || places.includes(row.label)) continue;
    const evidence = row.evidence ?? "";
    if (isState(row.kind)) {
      evenly.set(index, evidence);
      continue;
    }
    const role = roleOf(row.label, best);
    labelled[index].push({ label: row.label, role, strength: row.strength ?? 0, evidence });
    for (const name of [`role ${role}`, row.label]) having.set(name, (having.get(name) ?? new Set()).add(index));
  }
  /** @param {string} name */
  const number = (name) => having.get(name)?.size ?? 0;
  /** @param {RoleLabel} label */
  const lead = ({ label, strength }) => best.get(label)?.lead ?? strength;
  return labelled.map((labels, index) => {
    const share = shares ? shares[index] : NaN;
    const rests = share > least;
    const sorted = labels.sort(
      (a, b) =>
        number(`role ${a.role}`) - number(`role ${b.role}`) ||
        number(a.label) - number(b.label) ||
        lead(b) - lead(a),
    );
    if (sorted.length) {
      const [{ role, label, evidence }] = sorted;
      return { role, label, labels: sorted, evidence, share, rests };
    }
    const role = evenly.has(index) ? "spreads evenly" : rests ? "only rests" : "no label";
    return { role, label: role, labels: [], evidence: evenly.get(index) ?? "", share, rests };
  });
}

/** @param {string} label @param {Map<string, BestHead>} best the best head of each relation */
function roleOf(label, best) {
  if (best.has(label)) return "relation";
  return ROLE_OF_LABEL.get(label) ?? (Object.hasOwn(ROLES, label) ? label : "other label");
}

/** What a head does, in a sentence without its subject. @param {HeadRole} head */
export function saysOf({ role, label, labels }) {
  if (!labels.length) return NO_ROLE[role];
  const others = labels.length - 1;
  const more = others ? ` and has ${others} more label${others > 1 ? "s" : ""}` : "";
  if (role === "relation") return `finds the other end of the relation ${label}${more}`;
  return (role === "other label" ? `is labelled ${label}` : ROLES[role].says) + more;
}

/**
 * The heads that a choice leaves: roles add up, and so do heads named one by one; a state narrows them down. Null if
 * nothing is chosen.
 * @param {Atlas} atlas @param {string} only names of roles, of states and of heads with commas between
 * @returns {((index: number) => boolean)|null}
 */
export function chosenHeads({ roles, heads }, only) {
  const names = chosenNames(only);
  if (!names.length) return null;
  const isState = (/** @type {string} */ name) => name === RESTS || name === WORKS;
  const [states, others] = [names.filter(isState), names.filter((name) => !isState(name))];
  return (index) => {
    const { role, rests } = roles[index];
    if (states.length && !states.includes(rests ? RESTS : WORKS)) return false;
    return !others.length || others.includes(role) || others.includes(heads.name(index));
  };
}

/** @param {string} only */
export function chosenNames(only) {
  return only.split(",").filter(Boolean);
}

/** How many heads a test passes. @param {Heads} heads @param {(index: number) => boolean} test */
export function countHeads(heads, test) {
  let number = 0;
  for (let index = 0; index < heads.total; index += 1) number += Number(test(index));
  return number;
}
