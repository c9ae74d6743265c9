/** A colour for each of several heads. */

const LIGHTNESS = { light: 42, dark: 66 };

/** @param {Palette} colours @param {number} all @returns {string[]} the accent for one head alone */
export function headColours(colours, all) {
  if (all === 1) return [colours.accent];
  if (all <= colours.kinds.length) return Array.from({ length: all }, (_, place) => colours.kind(place));
  const lightness = LIGHTNESS[colours.theme === "dark" ? "dark" : "light"];
  return Array.from({ length: all }, (_, place) => `hsl(${Math.round((360 * place) / all)} 68% ${lightness}%)`);
}
