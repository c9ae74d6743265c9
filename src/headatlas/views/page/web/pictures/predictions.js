/** What the model predicts at a place of the text, as it is and after heads were removed or attention was cut. */

import { percent } from "../data/frames.js";
import { button, element, fitted, visible } from "../dom.js";

const SIZE = 14; // pixels of a letter
const WIDEST = 130; // pixels of a token; some consist of a hundred spaces

/**
 * A table for each place.
 * @param {Prediction[]} predictions @param {string[]} words
 * @param {boolean} changed whether the model is changed, so that both sides differ
 * @param {{target: number, follow: (token: number) => void}|null} following the token whose effects are shown, if it
 *   can be chosen
 */
export function predictionTables(predictions, words, changed, following) {
  /** @param {[token: string, probability: number, id: number]} row */
  const cells = ([token, probability, id]) => {
    const text = fitted(token, SIZE, WIDEST);
    const pressed = { class: "link", title: "Show which heads matter for this token", "aria-pressed": "" };
    pressed["aria-pressed"] = String(following?.target === id);
    return [
      element("td", { title: visible(token) }, following ? button(text, () => following.follow(id), pressed) : text),
      element("td", { class: "number", text: percent(probability, 1) }),
    ];
  };
  return predictions.map(({ word, before, after, own, kl }) => {
    const title = word < 0 ? "Next" : `In place of “${fitted(words[word], SIZE, WIDEST)}”`;
    const heading = changed ? ["whole model", "", "changed", ""] : ["whole model", ""];
    const rows = before.map((row, place) => element("tr", {}, ...cells(row), ...(changed ? cells(after[place]) : [])));
    const titles = heading.map((text) => element("th", { text, scope: "col" }));
    const table = element(
      "table",
      { class: "expects" },
      element("caption", { text: title }),
      element("thead", {}, element("tr", {}, ...titles)),
      element("tbody", {}, ...rows),
    );
    const lines = [own && ownLine(own, changed), changed && `Total change: ${kl.toFixed(3)} nats (KL divergence)`];
    return element("div", {}, table, ...lines.map((text) => text && element("p", { class: "remark", text })));
  });
}

/** @param {NonNullable<Prediction["own"]>} own @param {boolean} changed */
function ownLine({ token, before, after, rank_before: rankBefore, rank_after: rankAfter }, changed) {
  const line = `“${fitted(token, SIZE, WIDEST)}” itself: ${percent(before, 1)} (rank ${rankBefore})`;
  return changed ? `${line} → ${percent(after, 1)} (rank ${rankAfter})` : line;
}

/**
 * What happens to all words of a text of which none is chosen.
 * @param {NonNullable<Answer["overall"]>} overall @param {boolean} changed
 */
export function overallLine({ kl, places, changed: others }, changed) {
  if (!changed) return `No word is masked. All ${places} tokens are predicted where they stand, to see what heads do.`;
  const top = `the likeliest token changes at ${others} of ${places}`;
  return `Predicted where they stand, the tokens change by ${kl.toFixed(3)} nats on average (KL divergence); ${top}.`;
}
