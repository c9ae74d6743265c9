/** The picture of mixes: a row a task, the layers from left to right. */

import { FONT, fitted, svg } from "../dom.js";
import { tip } from "../tip.js";

const ROW = { height: 78, gap: 14, label: 116, notes: 190, bottom: 34 };
const WIDEST = 64; // pixels of a layer

/** Differential scores as shares of all gains; zeros where nothing is gained. @param {(number|null)[]} gains */
export function gainShares(gains) {
  const total = gains.reduce((sum, gain) => sum + Math.max(0, gain ?? 0), 0);
  return gains.map((gain) => (total > 0 ? (gain ?? 0) / total : 0));
}

/** @param {object[]} mix rows of `layer_mix` @param {object[]} summary rows of `layer_summary` */
export function mixPicture(mix, summary, width, colours) {
  const layers = Math.max(0, ...mix.map(({ layer }) => layer)) + 1;
  const pitch = Math.max(12, Math.min(WIDEST, (width - ROW.label - ROW.notes) / layers));
  const total = {
    width: ROW.label + layers * pitch + ROW.notes,
    height: summary.length * (ROW.height + ROW.gap) + ROW.bottom,
  };
  const picture = svg("svg", {
    viewBox: `0 0 ${total.width} ${total.height}`,
    width: total.width,
    height: total.height,
    role: "img",
    "aria-label": "Mixing weights and differential scores of each task by layer",
    "font-family": FONT,
    "font-size": 12,
  });
  summary.forEach((about, place) => {
    const rows = mix.filter(({ task }) => task === about.task).sort((a, b) => a.layer - b.layer);
    const row = taskRow(about, rows, pitch, colours);
    row.setAttribute("transform", `translate(0 ${place * (ROW.height + ROW.gap)})`);
    picture.append(row);
  });
  const step = Math.ceil(24 / pitch);
  for (let layer = 0; layer < layers; layer += step) {
    picture.append(
      svg("text", {
        x: ROW.label + (layer + 0.5) * pitch,
        y: total.height - 18,
        "text-anchor": "middle",
        fill: colours.faint,
        text: String(layer),
      }),
    );
  }
  picture.append(
    svg("text", {
      x: ROW.label,
      y: total.height - 3,
      fill: colours.faint,
      "font-size": 11,
      text: "layer (0: embeddings)",
    }),
  );
  picture.addEventListener("pointermove", (event) =>
    tip(event, event.target.dataset.said ? JSON.parse(event.target.dataset.said) : null),
  );
  picture.addEventListener("pointerleave", (event) => tip(event, null));
  return picture;
}

function taskRow(about, rows, pitch, colours) {
  const shares = gainShares(rows.map(({ differential }) => differential));
  const top = Math.max(...rows.map(({ weight }) => weight), ...shares, 0.01);
  const bottom = Math.max(0, ...shares.map((share) => -share));
  const scale = (ROW.height - 4) / (top + bottom);
  const zero = 2 + top * scale;
  const x = (layer) => ROW.label + (layer + 0.5) * pitch;
  const node = svg("g");
  node.append(
    svg("text", {
      x: ROW.label - 10,
      y: zero - 4,
      "text-anchor": "end",
      "font-weight": 600,
      "font-size": 13,
      fill: colours.ink,
      text: fitted(about.task, 13, ROW.label - 12),
    }),
  );
  for (const [value, low, high, dash] of [
    [about.centre_of_gravity, about.centre_low, about.centre_high, null],
    [about.expected_layer, about.expected_low, about.expected_high, "4 3"],
  ]) {
    if (value === null || value < -0.5 || value > rows.length - 0.5) continue;
    const [from, to] = [Math.max(-0.5, low ?? value), Math.min(rows.length - 0.5, high ?? value)];
    node.append(
      svg("rect", {
        x: x(from),
        y: 0,
        width: Math.max(0, x(to) - x(from)),
        height: ROW.height,
        fill: colours.ink,
        "fill-opacity": 0.08,
      }),
      svg("path", {
        d: `M${x(value)} 0V${ROW.height}`,
        stroke: colours.ink,
        "stroke-width": 1.4,
        "stroke-dasharray": dash,
      }),
    );
  }
  rows.forEach((row, place) => {
    const wide = pitch * 0.8;
    const left = x(row.layer) - wide / 2;
    const share = shares[place];
    const said = JSON.stringify([
      `${about.task}, layer ${row.layer}`,
      `weight ${row.weight.toFixed(3)}`,
      `score up to here ${(100 * row.cumulative).toFixed(1)} (${(100 * row.low).toFixed(1)} to ${(100 * row.high).toFixed(1)})`,
      ...(row.differential === null ? [] : [`adds ${(100 * row.differential).toFixed(1)} points`]),
    ]);
    node.append(
      svg("rect", {
        x: left,
        y: zero - row.weight * scale,
        width: wide,
        height: row.weight * scale,
        fill: colours.accent,
        "fill-opacity": 0.75,
      }),
      svg("rect", {
        x: left,
        y: share > 0 ? zero - share * scale : zero,
        width: wide,
        height: Math.abs(share) * scale,
        fill: "none",
        stroke: colours.kind(3),
        "stroke-width": 1.6,
      }),
      svg("rect", {
        x: x(row.layer) - pitch / 2,
        y: 0,
        width: pitch,
        height: ROW.height,
        fill: "transparent",
        "data-said": said,
        "data-layer": row.layer,
      }),
    );
  });
  node.append(svg("path", { d: `M${ROW.label} ${zero}H${ROW.label + rows.length * pitch}`, stroke: colours.rule }));
  const number = (value, digits) => (value === null ? "none" : value.toFixed(digits));
  const notes = [
    `micro F1 ${number(100 * about.score, 1)}`,
    `centre of gravity ${number(about.centre_of_gravity, 2)}`,
    `expected layer ${number(about.expected_layer, 2)}`,
    `KL from equal weights ${number(about.kl, 2)}`,
  ];
  notes.forEach((text, line) =>
    node.append(
      svg("text", {
        x: ROW.label + rows.length * pitch + 14,
        y: 18 + line * 16,
        fill: line ? colours.faint : colours.ink,
        text,
      }),
    ),
  );
  return node;
}
