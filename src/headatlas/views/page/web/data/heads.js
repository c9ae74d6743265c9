/** The heads of a model in a row, layer by layer; layers may differ in how many they have. All numbers from 1. */
export class Heads {
  /** @param {number[]} perLayer heads in each layer */
  constructor(perLayer) {
    this.perLayer = perLayer;
    this.layers = perLayer.length;
    this.widest = Math.max(...perLayer);
    this.starts = [];
    let total = 0;
    for (const number of perLayer) {
      this.starts.push(total);
      total += number;
    }
    this.total = total;
  }

  /** Place of a head in the row, from 0; -1 where there is none. */
  index(layer, head) {
    const there = layer >= 1 && layer <= this.layers && head >= 1 && head <= this.perLayer[layer - 1];
    return there ? this.starts[layer - 1] + head - 1 : -1;
  }

  /** @returns {{layer: number, head: number}} */
  at(index) {
    let layer = this.layers;
    while (this.starts[layer - 1] > index) layer -= 1;
    return { layer, head: index - this.starts[layer - 1] + 1 };
  }

  name(index) {
    const { layer, head } = this.at(index);
    return `${layer}-${head}`;
  }

  /** Place of a head written "8-10", or -1. */
  parse(text) {
    const found = /^\s*(\d+)\s*[-.:]\s*(\d+)\s*$/.exec(text);
    return found ? this.index(Number(found[1]), Number(found[2])) : -1;
  }

  /** The head that an arrow key leads to; the same one at the edge. */
  move(index, key) {
    const { layer, head } = this.at(index);
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key];
    if (key === "Home") return this.index(layer, 1);
    if (key === "End") return this.index(layer, this.perLayer[layer - 1]);
    if (!step) return index;
    const to = this.index(layer + step[0], head + step[1]);
    return to < 0 ? index : to;
  }
}
