/** Commands to copy into a terminal. */

/** A word for a POSIX shell; it also works in PowerShell, unless it has quotes itself. @param {string} word */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * The folder of a page that was opened as a file, or null.
 * @param {{protocol: string, pathname: string}} address
 */
export function folderOf({ protocol, pathname }) {
  if (protocol !== "file:") return null;
  const path = decodeURIComponent(pathname).replace(/\/[^/]*$/, "");
  return path.replace(/^\/(?=[A-Za-z]:)/, "") || "/";
}

/** The command that opens a text in the explorer. @param {string} what atlas or model @param {string} text */
export function exploreCommand(what, text = "") {
  return `headatlas explore ${quoted(what)}${text ? ` --text ${quoted(text)}` : ""}`;
}

/** Words as a text: no space before what ends a sentence or a bracket. @param {string[]} words */
export function joined(words) {
  return words
    .join(" ")
    .replace(/ (?=[.,;:!?)\]}…%’])/g, "")
    .replace(/(?<=[([{]) /g, "");
}
