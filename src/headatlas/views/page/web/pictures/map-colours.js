/** What heads are coloured by on map and grid: a measure, the layer, the behaviour or the cluster. */

import { clustersOf } from "../data/head-facts.js";
import { range, scaled } from "../data/measures.js";
import { NO_ROLE, ROLES } from "../data/roles.js";
import { kindLegend, rampLegend } from "./legend.js";

/** @typedef {{fill: (index: number) => string, entries: [label: string, colour: string][]}} Kinds */

/**
 * How heads are filled and outlined, since pale shades would be lost on the paper, and what the colours mean.
 * @param {Atlas} atlas @param {string} by @param {Palette} colours @param {number} left @param {number} width
 * @param {Atlas[]} all the atlases that share the legend
 * @returns {{
 *   outline: string,
 *   fill: (index: number) => string,
 *   legend: (y: number) => {node: SVGElement, height: number},
 * }}
 */
export function colouring(atlas, by, colours, left, width, all = [atlas]) {
  const measure = atlas.measureOf.get(by);
  if (measure) {
    const share = scaled(measure);
    return {
      fill: (index) => colours.shade(share(index)),
      outline: colours.faint,
      legend: (y) => {
        const { node, height } = rampLegend(colours, range(measure), measure.format, measure.label, width);
        node.setAttribute("transform", `translate(${left} ${y - 4})`);
        return { node, height };
      },
    };
  }
  const kinds = by === "behaviour" ? behaviours : by === "cluster" ? clusters : layers;
  const { fill, entries } = kinds(atlas, colours, all);
  const outline = by === "behaviour" ? colours.faint : colours.paper;
  return { fill, outline, legend: (y) => kindLegend(colours, entries, left, y, width, outline) };
}

/** @param {Atlas} atlas @param {Palette} colours @returns {Kinds} */
function layers({ heads }, colours) {
  /** @param {number} layer */
  const colour = (layer) => colours.layer(layer, heads.layers);
  return {
    fill: (index) => colour(heads.at(index).layer),
    entries: heads.perLayer.map((_, place) => [`layer ${place + 1}`, colour(place + 1)]),
  };
}

/**
 * Roles as on the wall; the legend names those that any of the atlases has.
 * @param {Atlas} atlas @param {Palette} colours @param {Atlas[]} all
 * @returns {Kinds}
 */
function behaviours({ roles }, colours, all) {
  const used = new Set(all.flatMap((side) => side.roles.map(({ role }) => role)));
  const names = [...Object.keys(ROLES), ...Object.keys(NO_ROLE)].filter((role) => used.has(role));
  return { fill: (index) => colours.role(roles[index].role), entries: names.map((role) => [role, colours.role(role)]) };
}

/** @param {Atlas} atlas @param {Palette} colours @returns {Kinds} */
function clusters(atlas, colours) {
  const clusterOf = clustersOf(atlas);
  const names = [...new Set(clusterOf.values())].sort((a, b) => a - b);
  /** @param {number} name */
  const colour = (name) => colours.kind(names.indexOf(name));
  return {
    fill: (index) => (clusterOf.has(index) ? colour(clusterOf.get(index) ?? 0) : colours.none),
    entries: names.map((name) => [`cluster ${name}`, colour(name)]),
  };
}
