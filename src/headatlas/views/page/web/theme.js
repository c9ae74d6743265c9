/** Light or dark: as the system says, unless the reader chooses. */

import { paletteOf } from "./pictures/palette.js";

const KEPT = "headatlas-theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function kept() {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null; // a browser that keeps nothing for files
  }
}

/** The theme now. */
export function currentTheme() {
  const chosen = kept();
  return chosen === "dark" || chosen === "light" ? chosen : dark.matches ? "dark" : "light";
}

/** Keep a choice, where the browser can. */
export function keepTheme(theme) {
  try {
    localStorage.setItem(KEPT, theme);
  } catch {
    return; // it holds for this visit
  }
}

/** Call back when the system changes and the reader has not chosen. */
export function watchTheme(change) {
  dark.addEventListener("change", () => !kept() && change(currentTheme()));
}

const palettes = { light: paletteOf("light"), dark: paletteOf("dark") };
export function palette(theme) {
  return palettes[theme];
}
