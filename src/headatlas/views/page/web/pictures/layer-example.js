/** One target, layer by layer: the probability of the right label beside that of its strongest rival. */

import { element, fitted, picture, svg, visible } from "../dom.js";

const SIZE = { height: 64, bottom: 18, label: 150, widest: 46, letter: 11 };

/**
 * A text with its spans set off, such as ["he smoked ", {span: "toronto", number: "1"}].
 * @param {string} text
 * @returns {(string|{span: string, number: string})[]}
 */
function marked(text) {
  return text.split(/\[([12]) /).flatMap((part, place, all) => {
    if (place === 0) return part ? [part] : [];
    if (place % 2) return [];
    const end = part.indexOf("]");
    const rest = part.slice(end + 1);
    return [{ span: part.slice(0, end), number: all[place - 1] }, ...(rest ? [rest] : [])];
  });
}

/** @param {Row[]} rows one row per layer, of one target @param {number} width @param {Palette} colours */
export function examplePicture(rows, width, colours) {
  const [first] = rows;
  const pitch = Math.min(SIZE.widest, (width - SIZE.label) / rows.length);
  const right = rows.length * pitch;
  const total = { width: right + SIZE.label, height: SIZE.height + SIZE.bottom };
  const label = `Probability of ${first.label} and of ${first.rival} by layer`;
  const chart = picture(total, label, { "font-size": SIZE.letter });
  const tall = SIZE.height - 4;
  const rival = colours.kind(4);
  rows.forEach(({ layer, probability, rival_probability: rivalProbability }, place) => {
    const left = place * pitch;
    /** @param {number} value @param {number} x @param {string} fill */
    const bar = (value, x, fill) =>
      svg("rect", { x, y: 4 + (1 - value) * tall, width: pitch * 0.38, height: value * tall, fill });
    const middle = { x: left + pitch / 2, y: total.height - 4, "text-anchor": "middle" };
    chart.append(
      bar(probability, left + pitch * 0.1, colours.accent),
      bar(rivalProbability, left + pitch * 0.5, rival),
      svg("text", { ...middle, fill: colours.faint, text: String(layer) }),
    );
  });
  chart.append(svg("path", { d: `M0 ${SIZE.height}H${right}`, stroke: colours.rule }));
  const legend = [
    [first.label, colours.accent, "right"],
    [first.rival, rival, "rival"],
  ];
  legend.forEach(([name, fill, what], line) => {
    const text = `${fitted(String(name), SIZE.letter, SIZE.label - 70)} (${what})`;
    chart.append(
      svg("rect", { x: right + 12, y: 14 + line * 20, width: 10, height: 10, fill }),
      svg("text", { x: right + 28, y: 23 + line * 20, fill: colours.ink, text }),
    );
  });
  const words = marked(first.text).map((part) =>
    typeof part === "string"
      ? visible(part)
      : element("strong", { class: `span${part.number}`, text: visible(part.span) }),
  );
  return element("figure", { class: "target" }, element("figcaption", {}, ...words), chart);
}
