/** Light or dark: as the system says, unless the reader chooses. */

import { paletteOf } from "./pictures/palette.js";

const KEY = "headatlas-theme"; // in the browser's storage
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function chosenTheme() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a browser that stores nothing for files
  }
}

/** The theme now. @returns {"dark"|"light"} */
export function currentTheme() {
  const chosen = chosenTheme();
  return chosen === "dark" || chosen === "light" ? chosen : dark.matches ? "dark" : "light";
}

/** Remember a choice, if the browser can. @param {string} theme */
export function keepTheme(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    return; // it holds for this visit
  }
}

/** Call back when the system changes and the reader has not chosen. @param {(theme: string) => void} change */
export function watchTheme(change) {
  dark.addEventListener("change", () => !chosenTheme() && change(currentTheme()));
}

const palettes = { light: paletteOf("light"), dark: paletteOf("dark") };

/** @param {string} theme */
export function palette(theme) {
  return theme === "dark" ? palettes.dark : palettes.light;
}
