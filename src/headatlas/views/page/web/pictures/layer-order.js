/** The order of tasks over layers as a table: how often the task of a row lies below that of a column. */

import { element } from "../dom.js";

/** Share in which `first` lies below `second`; null where they were not compared. @param {object[]} order */
export function shareBelow(order, first, second) {
  const so = order.find(({ below, above }) => below === first && above === second);
  if (so) return so.share;
  const turned = order.find(({ below, above }) => below === second && above === first);
  return turned && turned.share !== null ? 1 - turned.share : null;
}

/** @param {object[]} order rows of `layer_order` of one measure @param {object[]} summary rows of `layer_summary` */
export function orderTable(order, summary, measure) {
  const ranked = summary.filter((row) => row[measure] !== null).sort((a, b) => a[measure] - b[measure]);
  const number = (text) => element("td", { class: "number", text });
  const titles = ["task", measure.replaceAll("_", " "), ...ranked.map(({ task }) => `below ${task}`)];
  const head = element("tr", {}, ...titles.map((text, place) => element("th", { class: place ? "number" : "", text })));
  const rows = ranked.map((row) =>
    element(
      "tr",
      {},
      element("td", { text: row.task }),
      number(row[measure].toFixed(2)),
      ...ranked.map(({ task }) => {
        const share = task === row.task ? null : shareBelow(order, row.task, task);
        return number(share === null ? "" : share.toFixed(3));
      }),
    ),
  );
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}
