/** What the points of the map are coloured by: a measure, the layer, the behaviour or the cluster. */

import { textWidth } from "../dom.js";
import { kindLegend, rampLegend } from "./legend.js";
import { range } from "../data/measures.js";

/**
 * How the points are filled and outlined, for pale shades would be lost on the paper, and what the colours mean.
 * @returns {{outline: string, fill: (index: number) => string, legend: (y: number) => {node: SVGElement, height: number}}}
 */
export function colouring(atlas, by, colours, left, width) {
  const measure = atlas.measureOf.get(by);
  if (measure) {
    const [low, high] = range(measure);
    const fill = (index) => colours.shade((measure.values[index] - low) / (high - low));
    const legend = (y) => ({
      node: rampLegend(colours, [low, high], measure.format, measure.label, left, y - 4),
      height: 30,
    });
    return { fill, outline: colours.faint, legend };
  }
  const groups = { behaviour: behaviours, cluster: clusters, layer: layers }[by] ?? layers;
  const { fill, entries } = groups(atlas, colours);
  return { fill, outline: colours.paper, legend: (y) => kindLegend(colours, entries, left, y, width, textWidth) };
}

function layers({ heads }, colours) {
  const colour = (layer) => colours.layer(layer, heads.layers);
  return {
    fill: (index) => colour(heads.at(index).layer),
    entries: heads.perLayer.map((_, place) => [`layer ${place + 1}`, colour(place + 1)]),
  };
}

/** The commonest behaviours have a colour each, the others share one. */
function behaviours(atlas, colours) {
  const most = colours.kinds.length - 1;
  const first = new Map();
  atlas.behaviours.forEach(({ heads }, kind) => heads.forEach((index) => first.has(index) || first.set(index, kind)));
  const colour = (kind) => colours.kind(Math.min(kind, most));
  const entries = atlas.behaviours.slice(0, most).map(({ label }, kind) => [label, colour(kind)]);
  if (atlas.behaviours.length > most) entries.push(["other behaviour", colour(most)]);
  entries.push(["none found", colours.none]);
  return { fill: (index) => (first.has(index) ? colour(first.get(index)) : colours.none), entries };
}

function clusters({ frames, heads }, colours) {
  const placed = frames.get("head_map");
  const of = new Map();
  for (let row = 0; row < placed.length; row += 1) {
    of.set(heads.index(placed.get("layer")[row], placed.get("head")[row]), placed.get("cluster")[row]);
  }
  const names = [...new Set(of.values())].sort((a, b) => a - b);
  const colour = (name) => colours.kind(names.indexOf(name));
  return {
    fill: (index) => (of.has(index) ? colour(of.get(index)) : colours.none),
    entries: names.map((name) => [`cluster ${name}`, colour(name)]),
  };
}
