/**
 * The maps of all heads on one text, small, in one picture to choose from. Layers run down; in a model with many more
 * layers than heads, and where there is room, across.
 */

import { tokenMap } from "../data/attention.js";
import { keyGroups, layerOf } from "../data/several.js";
import { isSink, withoutSink } from "../data/sink.js";
import { element, picture, svg } from "../dom.js";
import { tip } from "../tip.js";
import { headAt, onHeadKeys } from "./choosing.js";
import { channels } from "./palette.js";

const SHARP = 2; // pixels of the screen for one of the picture
const PITCH = { least: 26, scrolled: 38, most: 58 }; // from one map to the next
const MARGIN = { left: 30, top: 30 };
const STRIP = 4; // pixels below a map, for the effect of the head
const TALLEST = 560; // pixels of a picture whose maps could be smaller

/**
 * Where each head is drawn.
 * @param {Heads} heads @param {number} width that the picture may have
 */
export function thumbnailLayout(heads, width) {
  const room = width - MARGIN.left - 4;
  const across = heads.layers > 1.5 * heads.widest && room / heads.layers >= PITCH.least;
  const [columns, rows] = across ? [heads.layers, heads.widest] : [heads.widest, heads.layers];
  const tall = (TALLEST - MARGIN.top) / rows;
  const most = tall < PITCH.least ? PITCH.scrolled : Math.min(PITCH.most, tall);
  const pitch = Math.floor(Math.max(PITCH.least, Math.min(most, room / columns)));
  return {
    across,
    pitch,
    columns,
    rows,
    /** @param {number} index */
    place(index) {
      const { layer, head } = heads.at(index);
      const [column, row] = across ? [layer, head] : [head, layer];
      return { x: MARGIN.left + (column - 1) * pitch, y: MARGIN.top + (row - 1) * pitch };
    },
    /** The key that moves in the same direction where layers run down. @param {string} key */
    turned(key) {
      const turns = { ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight", ArrowLeft: "ArrowUp", ArrowRight: "ArrowDown" };
      return across ? (turns[/** @type {keyof turns} */ (key)] ?? key) : key;
    },
  };
}

/**
 * @param {Heads} heads
 * @param {{example: Example, width: number, sink: boolean, shared: number, colours: Palette,
 *          say: (index: number) => string[], choose: (index: number) => void, press: (index: number) => void}} scene
 *   `shared`: heads that share keys and values; `choose` follows clicks and arrow keys, `press` Enter and double clicks
 */
export function thumbnails(heads, { example, width, sink, shared, colours, say, choose, press }) {
  const layout = thumbnailLayout(heads, width);
  const { pitch, columns, rows, across, place } = layout;
  const inner = pitch - STRIP - 3;
  const total = { width: MARGIN.left + columns * pitch + 2, height: MARGIN.top + rows * pitch + 2 };
  const node = picture(total, "Maps of all heads on this text: arrow keys move, Enter removes or restores", {
    tabindex: 0,
    role: "grid",
    class: "headgrid thumbnails",
    "data-arrows": "",
    "font-size": 11,
  });
  const canvas = element("canvas", { width: total.width * SHARP, height: total.height * SHARP });
  paintMaps(canvas, heads, { example, sink, colours, inner, place });
  const strips = svg("g");
  const crosses = svg("g", { "pointer-events": "none", stroke: colours.wrong, "stroke-width": 2.4 });
  const rings = svg("g", { "pointer-events": "none", fill: "none" });
  const lines = heads.perLayer.map((_, layer) => svg("g", { role: "row", "aria-label": `Layer ${layer + 1}` }));
  const cells = Array.from({ length: heads.total }, (_, index) => {
    const square = { ...place(index), width: inner, height: inner + STRIP + 1, fill: "#00000000" };
    const cell = svg("rect", { ...square, role: "gridcell", id: `thumbnail-${index}`, "data-head": index });
    lines[heads.at(index).layer - 1].append(cell);
    return cell;
  });
  const image = { width: total.width, height: total.height, href: canvas.toDataURL() };
  node.append(svg("image", image), ticks(), groupMarks(), strips, ...lines, crosses, rings);

  function ticks() {
    const group = svg("g", { fill: colours.faint, "aria-hidden": "true" });
    const every = pitch < 20 ? 2 : 1;
    for (let column = 0; column < columns; column += every) {
      const at = { x: MARGIN.left + column * pitch + inner / 2, y: MARGIN.top - 6, "text-anchor": "middle" };
      group.append(svg("text", { ...at, text: String(column + 1) }));
    }
    for (let row = 0; row < rows; row += every) {
      const at = { x: MARGIN.left - 6, y: MARGIN.top + row * pitch + inner / 2 + 4, "text-anchor": "end" };
      group.append(svg("text", { ...at, text: String(row + 1) }));
    }
    const [top, side] = across ? ["layer →", "head ↓"] : ["head →", "layer ↓"];
    group.append(svg("text", { x: MARGIN.left, y: 11, text: `${top}   ${side}` }));
    return group;
  }

  /** A line beside the heads of each group that shares keys and values. */
  function groupMarks() {
    const marks = svg("g", { stroke: colours.none, "stroke-width": 2 });
    if (shared < 2) return marks;
    heads.perLayer.forEach((_, layer) => {
      for (const group of keyGroups(layerOf(heads, heads.starts[layer]), shared)) {
        const [first, last] = [place(group[0]), place(group[group.length - 1])];
        const [x, y] = [first.x - 1.5, first.y - 1.5];
        marks.append(svg("path", { d: across ? `M${x} ${y}V${last.y + inner}` : `M${x} ${y}H${last.x + inner}` }));
      }
    });
    return marks;
  }

  let current = 0;
  node.addEventListener("click", (event) => headAt(event) >= 0 && choose(headAt(event)));
  node.addEventListener("dblclick", (event) => headAt(event) >= 0 && press(headAt(event)));
  node.addEventListener("pointermove", (event) => tip(event, headAt(event) >= 0 ? say(headAt(event)) : null));
  node.addEventListener("pointerleave", (event) => tip(event, null));
  /** @param {number} head @param {string} key */
  const move = (head, key) => heads.move(head, layout.turned(key));
  onHeadKeys(node, { current: () => current, move, choose, press });

  return {
    node,
    /** Ring the heads that are shown in their colours, the current one first. @param {[number, string][]} shown */
    select(shown) {
      cells[current].removeAttribute("aria-selected");
      current = shown[0][0];
      cells[current].setAttribute("aria-selected", "true");
      node.setAttribute("aria-activedescendant", `thumbnail-${current}`);
      const made = shown.map(([index, stroke]) => {
        const { x, y } = place(index);
        const box = { x: x - 1.5, y: y - 1.5, width: inner + 3, height: inner + 3, rx: 3 };
        return svg("rect", { ...box, stroke, "stroke-width": index === current ? 3 : 2 });
      });
      rings.replaceChildren(...made.reverse());
    },
    /** Cross out heads. @param {Iterable<number>} removed */
    cross(removed) {
      const paths = [...removed].map((index) => {
        const { x, y } = place(index);
        return svg("path", { d: `M${x} ${y}l${inner} ${inner}M${x + inner} ${y}l${-inner} ${inner}` });
      });
      crosses.replaceChildren(...paths);
      cells.forEach((cell, index) => cell.setAttribute("aria-label", say(index).join(", ")));
    },
    /**
     * A strip below each map, as long as the head's effect is large.
     * @param {(index: number) => number} effect below 0 if the head supports the prediction; NaN if unknown
     */
    measure(effect) {
      const values = cells.map((_, index) => effect(index));
      const most = Math.max(1e-9, ...values.filter((value) => !Number.isNaN(value)).map(Math.abs));
      const bars = values.flatMap((value, index) => {
        const { x, y } = place(index);
        const share = Math.abs(value) / most;
        if (!(share > 0.01)) return [];
        const box = { x, y: y + inner + 1, width: (inner * share).toFixed(1), height: STRIP - 1 };
        return [svg("rect", { ...box, fill: value < 0 ? colours.accent : colours.picked })];
      });
      strips.replaceChildren(...bars);
    },
  };
}

/**
 * Draw each map into its square: a pixel takes the largest of the weights that fall on it, so that no line is lost.
 * @param {HTMLCanvasElement} canvas @param {Heads} heads
 * @param {{example: Example, sink: boolean, colours: Palette, inner: number, place: (index: number) => Point}} scene
 */
function paintMaps(canvas, heads, { example, sink, colours, inner, place }) {
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const units = example.tokens.map((text, token) => ({ text, word: example.word_of[token], tokens: [token] }));
  const { length } = units;
  const kept = units.map((_, place) => place).filter((place) => sink || !isSink(units[place]));
  const shades = Uint32Array.from({ length: 256 }, (_, level) => {
    const [red, green, blue] = channels(colours.shade(Math.sqrt(level / 255)));
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0; // as the bytes of a pixel lie in memory
  });
  const side = inner * SHARP;
  const image = pen.createImageData(side, side);
  const pixels = new Uint32Array(image.data.buffer);
  const levels = new Uint8Array(side * side);
  const each = side / kept.length;
  const at = kept.map((_, row) => [Math.floor(row * each), Math.ceil((row + 1) * each)]);
  for (let index = 0; index < heads.total; index += 1) {
    const whole = tokenMap(example.maps, index, length);
    const map = sink ? whole : withoutSink(whole, units).map;
    levels.fill(0);
    kept.forEach((from, row) => {
      kept.forEach((to, column) => {
        const level = Math.min(255, Math.round(255 * map[from * length + to]));
        if (!level) return;
        for (let y = at[row][0]; y < at[row][1]; y += 1) {
          for (let x = at[column][0]; x < at[column][1]; x += 1) {
            if (levels[y * side + x] < level) levels[y * side + x] = level;
          }
        }
      });
    });
    levels.forEach((level, pixel) => (pixels[pixel] = shades[level]));
    const { x, y } = place(index);
    pen.putImageData(image, x * SHARP, y * SHARP);
  }
}
