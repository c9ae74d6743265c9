/** The right of the opening view: a few findings, the most surprising first, each with a picture and a link. */

import { percent } from "../data/frames.js";
import { capitalised } from "../data/measures.js";
import { RESTS } from "../data/roles.js";
import { button, element, unbroken } from "../dom.js";
import { findingPicture } from "../pictures/finding-pictures.js";

/** @param {Context} context @param {() => void} showHead brings the head at work into view */
export function openingFindings({ atlas, store, palette }, showHead) {
  const node = element("div", { class: "leading" });

  function draw() {
    node.replaceChildren(...(atlas.content.leading ?? []).map(card));
  }

  /** @param {Finding} finding @param {number} place */
  function card(finding, place) {
    const text = element(
      "div",
      {},
      place ? "" : element("p", { class: "eyebrow", text: "Most surprising" }),
      element("p", { class: "claim" }, ...withNumber(finding)),
      element("p", { class: "base" }, behind(finding), link(finding) ?? ""),
    );
    return element("article", { class: place ? "finding" : "finding first" }, picture(finding), text);
  }

  /** @param {Finding} finding */
  function picture(finding) {
    return element("div", { class: "shown" }, findingPicture(finding, atlas, palette()));
  }

  /** What stands behind the claim, and how much of the head's attention rests. @param {Finding} finding */
  function behind({ base, heads }) {
    const [head] = heads.length === 1 ? heads : [];
    const share = head ? (atlas.roles[atlas.heads.index(...head)]?.share ?? NaN) : NaN;
    const rest = Number.isNaN(share) ? "" : `${percent(share)} of its attention rests. `;
    return unbroken((base ? `${capitalised(base)}. ` : "") + rest);
  }

  /** Where a finding is seen. @param {Finding} finding */
  function link({ heads, example, study }) {
    if (heads.length === 1) {
      const name = heads[0].join("-");
      const head = atlas.heads.parse(name);
      const show = () => {
        store.change(example === undefined ? { head } : { head, example });
        showHead();
      };
      return button(`Show head ${name}`, show, { class: "link" });
    }
    if (heads.length) {
      const named = heads.map(([layer, head]) => atlas.heads.index(layer, head));
      const resting = atlas.roles.filter(({ rests }) => rests).length;
      const all = resting === named.length && named.every((head) => atlas.roles[head]?.rests);
      const only = all ? RESTS : heads.map((head) => head.join("-")).join(",");
      return button("Show them", () => store.change({ only }), { class: "link" });
    }
    if (!study || !atlas.frames.has(study)) return null;
    return button("Show the table", () => store.change({ view: "tables", table: study }), { class: "link" });
  }

  return { node, draw };
}

/** The claim with its number in bold. @param {Finding} finding @returns {(Node|string)[]} */
function withNumber({ claim, value, unit }) {
  if (value === null) return [unbroken(claim)];
  const said = unit === "share" ? [percent(value), percent(value, 1)] : [String(value)];
  const text = claim.replaceAll("\u00a0", " ");
  for (const number of said) {
    const start = text.search(new RegExp(`(?<![\\w.-])${number.replace(".", "\\.")}(?![\\w-])`));
    if (start < 0) continue;
    const bold = element("b", { text: unbroken(number) });
    return [unbroken(text.slice(0, start)), bold, unbroken(text.slice(start + number.length)) + "."];
  }
  return [unbroken(claim) + "."];
}
