/** What is shown, as the part of an address after `#`, so that it can be sent to somebody. */

/**
 * @param {string} hash such as "#head=8-10&view=sentence&example=3"
 * @returns {Record<string, string>} empty if nothing can be read
 */
export function parseLink(hash) {
  /** @type {Record<string, string>} */
  const parts = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const cut = part.indexOf("=");
    if (cut < 1) continue;
    try {
      parts[part.slice(0, cut)] = decodeURIComponent(part.slice(cut + 1));
    } catch {
      continue; // a broken escape is ignored
    }
  }
  return parts;
}

/** The inverse of `parseLink`; empty parts are omitted. @param {Record<string, string|number|null|undefined>} parts */
export function formatLink(parts) {
  const said = Object.entries(parts).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return "#" + said.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
}
