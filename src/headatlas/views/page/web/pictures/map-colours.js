/** What heads are coloured by on map and grid: a measure, the layer, the behaviour or the cluster. */

import { clustersOf } from "../data/head-facts.js";
import { range, scaled } from "../data/measures.js";
import { kindLegend, rampLegend } from "./legend.js";

/** @typedef {{fill: (index: number) => string, entries: [label: string, colour: string][]}} Kinds */

/**
 * How heads are filled and outlined, since pale shades would be lost on the paper, and what the colours mean.
 * @param {Atlas} atlas @param {string} by @param {Palette} colours @param {number} left @param {number} width
 * @returns {{
 *   outline: string,
 *   fill: (index: number) => string,
 *   legend: (y: number) => {node: SVGElement, height: number},
 * }}
 */
export function colouring(atlas, by, colours, left, width) {
  const measure = atlas.measureOf.get(by);
  if (measure) {
    const share = scaled(measure);
    return {
      fill: (index) => colours.shade(share(index)),
      outline: colours.faint,
      legend: (y) => ({
        node: rampLegend(colours, range(measure), measure.format, measure.label, left, y - 4),
        height: 30,
      }),
    };
  }
  const kinds = by === "behaviour" ? behaviours : by === "cluster" ? clusters : layers;
  const { fill, entries } = kinds(atlas, colours);
  return { fill, outline: colours.paper, legend: (y) => kindLegend(colours, entries, left, y, width) };
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
 * The most common behaviours have one colour each, the others share one.
 * @param {Atlas} atlas @param {Palette} colours
 * @returns {Kinds}
 */
function behaviours(atlas, colours) {
  const most = colours.kinds.length - 1;
  /** @type {Map<number, number>} */
  const kindOf = new Map();
  atlas.behaviours.forEach(({ heads }, kind) => heads.forEach((index) => kindOf.has(index) || kindOf.set(index, kind)));
  /** @param {number} kind */
  const colour = (kind) => colours.kind(Math.min(kind, most));
  /** @type {Kinds["entries"]} */
  const entries = atlas.behaviours.slice(0, most).map(({ label }, kind) => [label, colour(kind)]);
  if (atlas.behaviours.length > most) entries.push(["other behaviour", colour(most)]);
  entries.push(["none found", colours.none]);
  return { fill: (index) => (kindOf.has(index) ? colour(kindOf.get(index) ?? 0) : colours.none), entries };
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
