/** The order of tasks over layers as a table: how often the task of a row lies below that of a column. */

import { shareBelow } from "../data/layers.js";
import { spaced } from "../data/measures.js";
import { element } from "../dom.js";

/** @param {Row[]} order the order by one measure @param {Row[]} summary one row per task @param {string} measure */
export function orderTable(order, summary, measure) {
  const ranked = summary.filter((row) => row[measure] !== null).sort((a, b) => a[measure] - b[measure]);
  /** @param {string} text */
  const number = (text) => element("td", { class: "number", text });
  const titles = ["task", spaced(measure), ...ranked.map(({ task }) => `below ${task}`)];
  const head = element("tr", {}, ...titles.map((text, place) => element("th", { class: place ? "number" : "", text })));
  const rows = ranked.map((row) => {
    const shares = ranked.map(({ task }) => (task === row.task ? null : shareBelow(order, row.task, task)));
    return element(
      "tr",
      {},
      element("td", { text: row.task }),
      number(row[measure].toFixed(2)),
      ...shares.map((share) => number(share === null ? "" : share.toFixed(3))),
    );
  });
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}
