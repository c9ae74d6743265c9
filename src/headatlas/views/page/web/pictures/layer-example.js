/** One target, layer by layer: the right label's probability beside that of its strongest rival. */

import { FONT, element, fitted, svg, visible } from "../dom.js";

const SIZE = { height: 64, bottom: 18, label: 150, widest: 46 };

/** A text with its spans set off: ["he smoked ", {span: "toronto", number: "1"}]. @param {string} text */
export function marked(text) {
  return text.split(/\[([12]) /).flatMap((part, place, all) => {
    if (place === 0) return part ? [part] : [];
    if (place % 2) return [];
    const end = part.indexOf("]");
    const rest = part.slice(end + 1);
    return [{ span: part.slice(0, end), number: all[place - 1] }, ...(rest ? [rest] : [])];
  });
}

/** @param {object[]} rows rows of `layer_examples` of one target */
export function examplePicture(rows, width, colours) {
  const [first] = rows;
  const pitch = Math.min(SIZE.widest, (width - SIZE.label) / rows.length);
  const total = { width: rows.length * pitch + SIZE.label, height: SIZE.height + SIZE.bottom };
  const label = `Probability of ${first.label} and of ${first.rival} by layer`;
  const picture = svg("svg", {
    viewBox: `0 0 ${total.width} ${total.height}`,
    width: total.width,
    height: total.height,
    role: "img",
    "aria-label": label,
    "font-family": FONT,
    "font-size": 11,
  });
  const tall = SIZE.height - 4;
  rows.forEach(({ layer, probability, rival_probability }, place) => {
    const left = place * pitch;
    const bar = (value, start, fill) =>
      svg("rect", { x: left + start, y: 4 + (1 - value) * tall, width: pitch * 0.38, height: value * tall, fill });
    picture.append(
      bar(probability, pitch * 0.1, colours.accent),
      bar(rival_probability, pitch * 0.5, colours.kind(4)),
      svg("text", {
        x: left + pitch / 2,
        y: total.height - 4,
        "text-anchor": "middle",
        fill: colours.faint,
        text: String(layer),
      }),
    );
  });
  picture.append(svg("path", { d: `M0 ${SIZE.height}H${rows.length * pitch}`, stroke: colours.rule }));
  [
    [first.label, colours.accent, "right"],
    [first.rival, colours.kind(4), "rival"],
  ].forEach(([name, fill, what], line) => {
    const x = rows.length * pitch + 12;
    picture.append(
      svg("rect", { x, y: 14 + line * 20, width: 10, height: 10, fill }),
      svg("text", {
        x: x + 16,
        y: 23 + line * 20,
        fill: colours.ink,
        text: `${fitted(String(name), 11, SIZE.label - 70)} (${what})`,
      }),
    );
  });
  const words = marked(first.text).map((part) =>
    typeof part === "string"
      ? visible(part)
      : element("strong", { class: `span${part.number}`, text: visible(part.span) }),
  );
  return element("figure", { class: "target" }, element("figcaption", {}, ...words), picture);
}
