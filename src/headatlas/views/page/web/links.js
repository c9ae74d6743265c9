/** What is shown, as the part of an address after `#`, so that it can be sent to somebody. */

/**
 * @param {string} hash such as "#head=8-10&view=sentence&example=3"
 * @returns {Record<string, string>} empty where nothing can be read
 */
export function parseLink(hash) {
  const found = {};
  for (const part of hash.replace(/^#/, "").split("&")) {
    const cut = part.indexOf("=");
    if (cut < 1) continue;
    try {
      found[part.slice(0, cut)] = decodeURIComponent(part.slice(cut + 1));
    } catch {
      continue; // a broken escape: as if it were not there
    }
  }
  return found;
}

/** The same the other way; what is empty is left out. */
export function formatLink(parts) {
  const said = Object.entries(parts).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return "#" + said.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
}
