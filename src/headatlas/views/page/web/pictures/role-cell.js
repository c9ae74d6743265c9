/** One head as a cell: colour and sign say its role, filled or hollow whether it works or rests. */

import { ROLES } from "../data/roles.js";
import { fitted, svg, textWidth } from "../dom.js";

const NAMED = 30; // pixels of the width from which a relation is named
const SIGNED = 11.5; // pixels of the shorter side from which there is a sign
const SMALLEST_NAME = 6.5;

/** @typedef {import("../data/roles.js").HeadRole} HeadRole */

/** What the cell itself is filled with. @param {Pick<HeadRole, "role"|"rests">} head @param {Palette} colours */
export function cellFill({ role, rests }, colours) {
  return (rests && role in ROLES) || role === "only rests" ? colours.paper : colours.role(role);
}

/**
 * What is drawn upon the cell.
 * @param {Pick<HeadRole, "role"|"rests"|"label">} head @param {Palette} colours
 * @param {{x: number, y: number, width: number, height: number}} box
 * @returns {SVGElement[]}
 */
export function cellMarks({ role, rests, label }, colours, box) {
  const { x, y, width, height } = box;
  const [least, middle] = [Math.min(width, height), { x: x + width / 2, y: y + height / 2 }];
  /** @param {string} stroke @param {number} thick */
  const outline = (stroke, thick) => {
    const inside = { x: x + thick / 2, y: y + thick / 2, width: width - thick, height: height - thick };
    return svg("rect", { ...inside, rx: Math.min(3, least / 6), fill: "none", stroke, "stroke-width": thick });
  };
  /** @param {string} text @param {string} fill @param {number} size */
  const sign = (text, fill, size) => {
    const at = { x: middle.x, y: middle.y + size * 0.36, "text-anchor": "middle" };
    return svg("text", { ...at, text, fill, "font-size": size, "font-weight": 700 });
  };
  if (role === "only rests") return [outline(colours.role(role), 1)];
  if (role === "spreads evenly") return least < SIGNED ? [dot(middle, least / 6, colours.faint)] : dots(box, colours);
  if (!(role in ROLES)) {
    return least < SIGNED ? [] : [sign("?", colours.on(colours.role(role)), Math.min(13, least / 2))];
  }
  const hollow = colours.line(role);
  const frame = rests ? [outline(hollow, Math.min(2, least / 6))] : [];
  const ink = rests ? hollow : colours.on(colours.role(role));
  if (least < SIGNED) return rests ? [...frame, dot(middle, least / 6, ink)] : [];
  if (role === "relation" && width >= NAMED) {
    const name = label.slice(label.indexOf(":") + 1); // of a subtype such as nmod:poss, what tells it apart
    const size = Math.max(SMALLEST_NAME, Math.min(11, (11 * (width - 6)) / textWidth(name, 11, 700)));
    return [...frame, sign(fitted(name, size, width - 4, 700), ink, size)];
  }
  return [...frame, sign(ROLES[role].sign, ink, Math.min(14, least / 1.9))];
}

/** @param {Point} at @param {number} r @param {string} fill */
function dot({ x, y }, r, fill) {
  return svg("circle", { cx: x, cy: y, r, fill });
}

/** Six dots for attention that goes everywhere. @param {Point & Size} box @param {Palette} colours */
function dots({ x, y, width, height }, colours) {
  const radius = Math.min(1.7, Math.min(width, height) / 12);
  return [0.33, 0.67].flatMap((down) =>
    [0.22, 0.5, 0.78].map((across) => dot({ x: x + across * width, y: y + down * height }, radius, colours.faint)),
  );
}

/** A small cell for a legend. @param {Pick<HeadRole, "role"|"rests"|"label">} head @param {Palette} colours */
export function sampleCell(head, colours) {
  const box = { x: 0.5, y: 0.5, width: 19, height: 15 };
  const node = svg("svg", { viewBox: "0 0 20 16", width: 20, height: 16, "aria-hidden": "true" });
  node.append(svg("rect", { ...box, rx: 3, fill: cellFill(head, colours) }), ...cellMarks(head, colours, box));
  return node;
}
