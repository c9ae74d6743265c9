/** The search box: a few letters, a list, arrow keys and Enter. */

import { strongest } from "../data/measures.js";
import { find, searchEntries } from "../data/search.js";
import { element, visible } from "../dom.js";

/** @param {Context} context */
export function createSearch({ atlas, store }) {
  const { heads, measures, behaviours, best, examples, views, content } = atlas;
  /** @type {[string, string][]} */
  const tables = Object.entries(content.tables).map(([name, { about }]) => [name, about]);
  const entries = searchEntries({ heads, measures, behaviours, best, tables, examples, strongest, views });
  const list = element("ul", { class: "found", id: "found", role: "listbox", "aria-label": "Results", hidden: true });
  const box = element("input", {
    type: "search",
    id: "search",
    placeholder: `Search: ${suggestions(atlas).join(", ")}…`,
    role: "combobox",
    "aria-label": "Search heads, relations, patterns, tables and examples",
    "aria-controls": "found",
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
  });
  /** @type {import("../data/search.js").Entry[]} */
  let results = [];
  let chosen = 0;

  function show() {
    results = find(entries, (query) => atlas.named(query), box.value);
    chosen = 0;
    list.replaceChildren(...results.map(item));
    if (!results.length && box.value.trim()) list.append(element("li", { class: "none", text: "Nothing found" }));
    const open = list.childElementCount > 0;
    list.hidden = !open;
    box.setAttribute("aria-expanded", String(open));
    mark();
  }

  /** @param {import("../data/search.js").Entry} entry @param {number} place */
  function item({ label, note }, place) {
    /** @param {Event} event */
    const pointerdown = (event) => {
      event.preventDefault();
      go(place);
    };
    return element(
      "li",
      { role: "option", id: `found-${place}`, on: { pointerdown } },
      element("span", { class: "name", text: visible(label) }),
      element("span", { class: "note", text: note }),
    );
  }

  function mark() {
    [...list.children].forEach((item, place) => {
      item.setAttribute("aria-selected", String(place === chosen && results.length > 0));
    });
    if (results.length) box.setAttribute("aria-activedescendant", `found-${chosen}`);
    else box.removeAttribute("aria-activedescendant");
  }

  /** @param {number} place */
  function go(place) {
    if (!results[place]) return;
    const { go: change } = results[place];
    store.change(change.measure ? { ...change, show: "values" } : change);
    close();
  }

  function close() {
    box.value = "";
    list.hidden = true;
    box.setAttribute("aria-expanded", "false");
  }

  box.addEventListener("input", show);
  box.addEventListener("focus", () => box.value && show());
  box.addEventListener("blur", () => (list.hidden = true));
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && results.length) {
      event.preventDefault();
      chosen = (chosen + step + results.length) % results.length;
      mark();
      list.children[chosen].scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") go(chosen);
    else if (event.key === "Escape") close();
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    box.focus();
  });
  return element("div", { class: "search" }, box, list);
}

/** A few words that are found: a head, a relation, a label or a measure. @param {Atlas} atlas */
function suggestions({ heads, best, behaviours, measures, content }) {
  const relation = [...best.keys()].find((name) => !name.startsWith("all"));
  const told = [relation, ...(content.resting?.labels ?? [])];
  const words = [relation, behaviours.find(({ label }) => !told.includes(label))?.label ?? measures[0]?.label];
  return [heads.name(Math.floor(heads.total / 2)), ...words.filter((word) => word !== undefined)];
}
