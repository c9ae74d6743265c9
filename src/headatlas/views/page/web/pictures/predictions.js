/** What the model predicts at a place of the text, with all heads and without those removed. */

import { percent } from "../data/frames.js";
import { element, fitted, visible } from "../dom.js";

const SIZE = 14; // pixels of a letter
const WIDEST = 130; // pixels of a token; some consist of a hundred spaces

/**
 * A table for each place.
 * @param {Prediction[]} predictions @param {string[]} words
 * @param {boolean} changed whether heads are removed, so that both sides differ
 */
export function predictionTables(predictions, words, changed) {
  return predictions.map(({ word, before, after, own }) => {
    const title = word < 0 ? "Next" : `In place of “${fitted(words[word], SIZE, WIDEST)}”`;
    const heading = changed ? ["all heads", "", "without them", ""] : ["all heads", ""];
    const rows = before.map((row, place) => element("tr", {}, ...cells(row), ...(changed ? cells(after[place]) : [])));
    const titles = heading.map((text) => element("th", { text, scope: "col" }));
    const table = element(
      "table",
      { class: "expects" },
      element("caption", { text: title }),
      element("thead", {}, element("tr", {}, ...titles)),
      element("tbody", {}, ...rows),
    );
    return element("div", {}, table, own && element("p", { class: "remark", text: ownLine(own, changed) }));
  });
}

/** @param {[token: string, probability: number]} row */
function cells([token, probability]) {
  return [
    element("td", { text: fitted(token, SIZE, WIDEST), title: visible(token) }),
    element("td", { class: "number", text: percent(probability, 1) }),
  ];
}

/** @param {NonNullable<Prediction["own"]>} own @param {boolean} changed */
function ownLine({ token, before, after, rank_before: rankBefore, rank_after: rankAfter }, changed) {
  const line = `“${fitted(token, SIZE, WIDEST)}” itself: ${percent(before, 1)} (rank ${rankBefore})`;
  return changed ? `${line} → ${percent(after, 1)} (rank ${rankAfter})` : line;
}
