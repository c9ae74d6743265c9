/**
 * Colours of the pictures in light and dark. Kinds are those of Okabe and Ito (2008), safe for colour-blind readers.
 * Roles of one family have one hue; families stay apart for colour-blind readers too, and every role has a sign.
 */

const LIGHT = {
  paper: "#ffffff",
  ink: "#1b2330",
  faint: "#5d6878",
  rule: "#d8dee7",
  empty: "#eef1f5",
  none: "#b4bdc9",
  accent: "#0072b2",
  picked: "#d55e00",
  right: "#00805d",
  wrong: "#c0510a",
  ramp: ["#f1f5fa", "#d3e3f1", "#a6c8e3", "#70a7d1", "#3b85bb", "#0f649f", "#06487a", "#052f53"],
  rests: "#ccd4de",
  roles: {
    relation: "#b8330a",
    antecedent: "#ee9a7c",
    "previous token": "#d99000",
    "next token": "#edb640",
    delimiter: "#5fbf9c",
    "other label": "#0067a5",
  },
  kinds: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7a00", "#555e6b"],
};
const DARK = {
  paper: "#141a23",
  ink: "#e8edf4",
  faint: "#9aa7b8",
  rule: "#2d3745",
  empty: "#1d2530",
  none: "#536173",
  accent: "#56b4e9",
  picked: "#f59a4c",
  right: "#2fc596",
  wrong: "#f28a4b",
  ramp: ["#1a2330", "#1b3652", "#1d4e78", "#25699d", "#3f89bf", "#6dacd9", "#a5d0ee", "#e4f3fd"],
  rests: "#364252",
  roles: {
    relation: "#ff7f50",
    antecedent: "#ffb8b0",
    "previous token": "#e6b23c",
    "next token": "#f7d98f",
    delimiter: "#15664d",
    "other label": "#3b94dd",
  },
  kinds: ["#3b94dd", "#f28a4b", "#2fc596", "#dd98bd", "#e6b23c", "#a3deff", "#f0e442", "#b4bfcc"],
};
const MIDDLE = 0.179; // luminance on which black and white are equally legible
const LAYERS = ["#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#e3d324"];
const LAYERS_DARK = ["#8d78d8", "#5f8fd0", "#35a5b8", "#2cc1a0", "#63d683", "#b3e34f", "#f4e643"];

/** The colours for a theme, "light" or "dark". @param {string} theme */
export function paletteOf(theme) {
  const colours = theme === "dark" ? DARK : LIGHT;
  const layers = theme === "dark" ? LAYERS_DARK : LAYERS;
  return {
    ...colours,
    theme,
    /** From small to large, 0 to 1. @param {number} share */
    shade: (share) => (Number.isNaN(share) ? colours.empty : between(colours.ramp, share)),
    /** Ink that is legible on that shade. @param {number} share */
    onShade: (share) => (luminance(between(colours.ramp, share)) < MIDDLE ? "#ffffff" : "#000000"),
    /** The colour of a role, and of heads without one. @param {string} role */
    role: (role) =>
      /** @type {Record<string, string>} */ (colours.roles)[role] ??
      ({ "only rests": colours.rests, "spreads evenly": colours.empty }[role] ?? colours.none),
    /** The same as a line on the paper: dark enough, or in the dark light enough, to be seen. @param {string} role */
    line: (role) => visibleOn(colours.paper, /** @type {Record<string, string>} */ (colours.roles)[role], theme),
    /** Ink that is legible on a colour. @param {string} colour */
    on: (colour) => (luminance(colour) < 0.22 ? "#ffffff" : "#10151d"),
    /** @param {number} number */
    kind: (number) => colours.kinds[number % colours.kinds.length],
    /** @param {number} number @param {number} all */
    layer: (number, all) => between(layers, all > 1 ? (number - 1) / (all - 1) : 0),
  };
}

/** A colour between the stops of a ramp. @param {string[]} stops @param {number} share */
function between(stops, share) {
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const start = Math.min(stops.length - 2, Math.floor(place));
  const [from, to] = [channels(stops[start]), channels(stops[start + 1])];
  const mixed = from.map((value, channel) => Math.round(value + (to[channel] - value) * (place - start)));
  return "#" + mixed.map((value) => value.toString(16).padStart(2, "0")).join("");
}

/**
 * A colour with a contrast of 3 to 1 on the paper.
 * @param {string} paper @param {string} colour @param {string} theme
 */
function visibleOn(paper, colour, theme) {
  const end = theme === "dark" ? "#ffffff" : "#000000";
  let [shown, share] = [colour, 0];
  while (share < 0.9 && contrast(shown, paper) < 3) {
    share += 0.04;
    shown = between([colour, end], share);
  }
  return shown;
}

/** The contrast of two colours, 1 to 21 (WCAG 2). @param {string} first @param {string} second */
function contrast(first, second) {
  const [dark, light] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** How light a colour is, 0 to 1 (WCAG 2). @param {string} colour */
function luminance(colour) {
  const [red, green, blue] = channels(colour).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Red, green and blue of "#rrggbb". @param {string} colour */
export function channels(colour) {
  return [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
}
