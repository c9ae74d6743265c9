/** What the model expects at a place of the text, with all heads and without those removed. */

import { element, fitted, visible } from "../dom.js";
import { percent } from "../data/frames.js";

const WIDEST = 130; // pixels of a token; some are a hundred spaces

/**
 * A table for each place.
 * @param {{place: number, word: number, before: [string, number][], after: [string, number][],
 *          own: {token: string, before: number, after: number, rank_before: number, rank_after: number}|null}[]} predictions
 * @param {boolean} changed whether heads are removed, so that both sides differ
 */
export function predictionTables(predictions, words, changed) {
  return predictions.map((one) => {
    const title = one.word < 0 ? "Next" : `In place of “${fitted(words[one.word], 14, WIDEST)}”`;
    const heading = changed ? ["all heads", "", "without them", ""] : ["all heads", ""];
    const rows = one.before.map((row, place) => {
      const cells = changed ? [...cell(row), ...cell(one.after[place])] : cell(row);
      return element("tr", {}, ...cells);
    });
    const caption = element("caption", { text: title });
    const head = element(
      "thead",
      {},
      element("tr", {}, ...heading.map((text) => element("th", { text, scope: "col" }))),
    );
    const table = element("table", { class: "expects" }, caption, head, element("tbody", {}, ...rows));
    return element("div", {}, table, one.own ? element("p", { class: "remark", text: ownLine(one.own, changed) }) : "");
  });
}

function cell([token, share]) {
  return [
    element("td", { text: fitted(token, 14, WIDEST), title: visible(token) }),
    element("td", { class: "number", text: percent(share, 1) }),
  ];
}

function ownLine({ token, before, after, rank_before: rankBefore, rank_after: rankAfter }, changed) {
  const was = `“${fitted(token, 14, WIDEST)}” itself: ${percent(before, 1)} (${rankBefore}.)`;
  return changed ? `${was} → ${percent(after, 1)} (${rankAfter}.)` : was;
}
