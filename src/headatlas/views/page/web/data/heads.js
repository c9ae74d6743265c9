/** The heads of a model in one row, layer by layer; layers may differ in width. Layers and heads count from 1. */

/** @type {Record<string, [number, number]>} */
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

export class Heads {
  /** @param {number[]} perLayer heads in each layer */
  constructor(perLayer) {
    this.perLayer = perLayer;
    this.layers = perLayer.length;
    this.widest = Math.max(...perLayer);
    /** @type {number[]} */
    this.starts = [];
    let total = 0;
    for (const number of perLayer) {
      this.starts.push(total);
      total += number;
    }
    this.total = total;
  }

  /** The place of a head in the row, from 0; -1 if it does not exist. @param {number} layer @param {number} head */
  index(layer, head) {
    const exists = layer >= 1 && layer <= this.layers && head >= 1 && head <= this.perLayer[layer - 1];
    return exists ? this.starts[layer - 1] + head - 1 : -1;
  }

  /** @param {number} index */
  at(index) {
    let layer = this.layers;
    while (this.starts[layer - 1] > index) layer -= 1;
    return { layer, head: index - this.starts[layer - 1] + 1 };
  }

  /** @param {number} index */
  name(index) {
    const { layer, head } = this.at(index);
    return `${layer}-${head}`;
  }

  /** The place of a head written "8-10", or -1. @param {string} text */
  parse(text) {
    const match = /^\s*(\d+)\s*[-.:]\s*(\d+)\s*$/.exec(text);
    return match ? this.index(Number(match[1]), Number(match[2])) : -1;
  }

  /** The head that an arrow key leads to; the same head at the edge. @param {number} index @param {string} key */
  move(index, key) {
    const { layer, head } = this.at(index);
    if (key === "Home") return this.index(layer, 1);
    if (key === "End") return this.index(layer, this.perLayer[layer - 1]);
    const step = STEPS[key];
    if (!step) return index;
    const target = this.index(layer + step[0], head + step[1]);
    return target < 0 ? index : target;
  }
}
