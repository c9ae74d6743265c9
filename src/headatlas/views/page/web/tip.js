/** A small note beside the pointer. */

import { element } from "./dom.js";

const note = element("div", { class: "tip", role: "status", hidden: true });

/** @param {HTMLElement} page */
export function attachTip(page) {
  page.append(note);
}

/**
 * Show lines of text beside the pointer or another point of the window, or hide the note.
 * @param {{clientX: number, clientY: number}|null} event @param {string[]|null} lines
 */
export function tip(event, lines) {
  note.hidden = !lines || !event;
  if (!lines || !event) return;
  note.replaceChildren(...lines.map((text, place) => element("div", { text, class: place ? "" : "first" })));
  const { innerWidth, innerHeight } = window;
  const [width, height] = [note.offsetWidth, note.offsetHeight];
  note.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  note.style.top = `${Math.max(4, Math.min(event.clientY + 16, innerHeight - height - 8))}px`;
}
