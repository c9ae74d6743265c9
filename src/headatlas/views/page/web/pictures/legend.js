/** What colours mean. */

import { svg } from "../dom.js";

/** A bar from small to large with its two ends, drawn into a picture. */
export function rampLegend(palette, [low, high], format, title, x, y, width = 160) {
  const steps = 24;
  const bar = [];
  for (let step = 0; step < steps; step += 1) {
    bar.push(
      svg("rect", {
        x: x + (step * width) / steps,
        y,
        width: width / steps + 0.5,
        height: 8,
        fill: palette.shade(step / (steps - 1)),
      }),
    );
  }
  const text = (at, anchor, words, fill) => svg("text", { x: at, y: y + 22, "text-anchor": anchor, fill, text: words });
  return svg(
    "g",
    { "font-size": 12 },
    ...bar,
    text(x, "start", format(low), palette.faint),
    text(x + width, "end", format(high), palette.faint),
    svg("text", { x: x + width + 14, y: y + 9, fill: palette.ink, text: title }),
  );
}

/** Dots with words, in rows that fit a width. @returns {{node: SVGElement, height: number}} */
export function kindLegend(palette, entries, x, y, width, measure) {
  const node = svg("g", { "font-size": 12 });
  let [left, top] = [x, y];
  for (const [label, colour] of entries) {
    const wide = 22 + measure(label, 12);
    if (left > x && left + wide > x + width) [left, top] = [x, top + 20];
    node.append(
      svg("circle", { cx: left + 5, cy: top, r: 5, fill: colour }),
      svg("text", { x: left + 14, y: top + 4, fill: palette.ink, text: label }),
    );
    left += wide + 10;
  }
  return { node, height: top - y + 16 };
}
