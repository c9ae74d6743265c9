/** The order of tasks over layers as a table: whether the task of a row lies below that of a column. */

import { placeBeside } from "../data/layers.js";
import { spaced } from "../data/measures.js";
import { element } from "../dom.js";

/** @param {Row[]} order the order by one measure @param {Row[]} summary one row per task @param {string} measure */
export function orderTable(order, summary, measure) {
  const ranked = summary.filter((row) => row[measure] !== null).sort((a, b) => a[measure] - b[measure]);
  /** @param {string} text */
  const number = (text, title = "") => element("td", { class: "number", text, title });
  const titles = ["task", spaced(measure), ...ranked.map(({ task }) => `beside ${task}`)];
  const head = element("tr", {}, ...titles.map((text, place) => element("th", { class: place ? "number" : "", text })));
  const rows = ranked.map((row) => {
    const places = ranked.map(({ task }) =>
      task === row.task ? { text: "", title: "" } : placeBeside(order, row.task, task),
    );
    return element(
      "tr",
      {},
      element("td", { text: row.task }),
      number(row[measure].toFixed(2)),
      ...places.map(({ text, title }) => number(text, title)),
    );
  });
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}
