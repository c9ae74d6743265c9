/**
 * Live: the reader's own text, every head on it, what the model predicts, and what changes if heads are removed or
 * attention is cut.
 */

import { AskError, Newest, ask } from "../data/asking.js";
import { unpackExample } from "../data/atlas.js";
import { changeOf, measureEffects, ranked } from "../data/effects.js";
import { counted } from "../data/frames.js";
import { headsShown } from "../data/several.js";
import { leastResting } from "../data/sink.js";
import { element, toggle } from "../dom.js";
import { parseLink } from "../links.js";
import { changeText, effectList, followed } from "../pictures/effects.js";
import { headColours } from "../pictures/head-colours.js";
import { headPictures } from "../pictures/head-pictures.js";
import { overallLine, predictionTables } from "../pictures/predictions.js";
import { thumbnails } from "../pictures/thumbnails.js";
import { anyOf, view } from "../view.js";
import { headChips, joinHead, severalToggle, sinkCheckbox, unitToggle } from "./example-controls.js";
import { removalBar } from "./live-removal.js";
import { wordBar } from "./live-words.js";

const FIRST = {
  masked: { text: "She drank a cup of coffee in the morning.", words: [5] },
  causal: { text: "When Mary and John went to the store, John gave a drink to", words: [] },
  none: { text: "She drank a cup of coffee in the morning.", words: [] },
};
const OPENS = parseLink(location.hash).head === undefined; // on a head of its own choice
const PAUSE = 250; // milliseconds without a letter before a text is read
/** @type {Choice[]} */
const KINDS = [
  ["removal", "removed"],
  ["cut", "cut as marked"],
];
const BESIDE = 0.58; // of the width, for the maps of a model with few heads in a layer

export const liveView = view("live", "Live", "A text of your own", (shell) => {
  const { atlas, store, palette, node, controls } = shell;
  const { heads } = atlas;
  const live = /** @type {Live} */ (atlas.content.live);
  const first = FIRST[live.predicts ?? "none"];
  let text = store.shown.text || live.text || first.text;
  /** @type {Set<number>} */
  const removed = new Set();
  /** @type {Example|null} */
  let example = null;
  /** @type {Answer|null} */
  let answer = null;
  /** @type {import("../data/effects.js").HeadEffects|null} */
  let effects = null;
  let effectsOf = ""; // the question that they answer
  let byCut = false;
  /** @type {number|null} */
  let target = null;
  /** @type {ReturnType<typeof thumbnails>|null} */
  let maps = null;
  let [choosing, opening] = [false, OPENS];

  const pictures = headPictures(
    shell,
    () => /** @type {Example} */ (example),
    () => "your text",
  );
  const why = live.limited_by_maps ? `, the most for which a browser can hold the maps of all heads` : "";
  const caption = `A text of your own, up to ${counted(live.most_tokens)} tokens${why}`;
  const box = element("textarea", { rows: 2, id: "live-text", dir: "auto", spellcheck: "false", maxlength: 60000 });
  box.value = text;
  const problem = element("p", { class: "problem", role: "alert" });
  const words = wordBar(shell, live, () => read());
  words.reset(text === first.text ? first.words : []);
  const mapsPlace = element("div", { class: "maps" });
  const expected = element("div", { class: "expected", "aria-live": "polite" });
  const ranking = element("div", { class: "ranking" });
  const removal = element("div", { class: "controls removal" });
  const chips = element("div");
  node.append(
    element("label", { for: "live-text", class: "caption", text: caption }),
    box,
    problem,
    words.node,
    element("div", { class: "beside" }, mapsPlace, element("div", { class: "outcome" }, expected, ranking)),
    removal,
    controls,
    chips,
    element("div", { class: "controls" }, pictures.verdict, ...pictures.savers()),
    pictures.note,
    pictures.stage,
  );

  const isChanged = () => removed.size > 0 || words.isCut();
  const question = () => ({ text, ...words.question() });
  /** Choose a head on behalf of the reader. @param {number} head */
  function open(head) {
    choosing = true;
    store.change({ head });
    choosing = false;
  }

  const questions = new Newest(async (/** @type {object} */ asked) => {
    let given;
    try {
      given = await ask(live, asked);
      example = await unpackExample(given.example);
      problem.textContent = "";
    } catch (error) {
      if (!(error instanceof AskError)) throw error;
      problem.textContent = error.message;
      node.dataset.state = "refused";
      return;
    }
    answer = given;
    words.show(given.words, example);
    drawMaps();
    drawExpected();
    if (opening && !effects) open(leastResting(example, heads.total));
    await pictures.draw();
    node.dataset.state = "answered";
    measure();
  });

  function read() {
    node.dataset.state = "asked";
    return questions.give({ ...question(), removed: [...removed].map((index) => heads.name(index)) });
  }

  const measuring = new Newest(async (/** @type {string} */ key) => {
    try {
      await measureEffects(live, heads, JSON.parse(key), (found) => {
        if (key !== effectsOf) return false; // the reader asks something else by now
        effects = found;
        drawEffects();
        return true;
      });
    } catch (error) {
      if (!(error instanceof AskError)) throw error;
      ranking.replaceChildren(element("p", { class: "problem", text: error.message }));
      return;
    }
    if (key !== effectsOf || !effects) return;
    if (opening) open(ranked(effects)[0]);
    opening = false;
    node.dataset.effects = "known";
  });

  function measure() {
    if (!live.predicts || !live.removable) return;
    if (byCut && !words.isCut()) byCut = false;
    const { cut, ...rest } = question();
    const key = JSON.stringify({ ...rest, target, ...(byCut ? { cut, by_cut: true } : {}) });
    if (key === effectsOf) return;
    effectsOf = key;
    effects = null;
    node.dataset.effects = "asked";
    drawEffects();
    measuring.give(key);
  }

  let waiting = 0;
  /** @param {string} typed */
  function retype(typed) {
    text = typed;
    target = null;
    words.reset();
    read();
    store.change({ text });
  }
  box.addEventListener("input", () => {
    clearTimeout(waiting);
    node.dataset.state = "asked";
    waiting = window.setTimeout(() => retype(box.value), PAUSE);
  });

  /** @param {number} head */
  function remove(head) {
    if (!live.removable) return;
    if (!removed.delete(head)) removed.add(head);
    drawRemoved();
    read();
  }

  /** @param {number} head */
  const say = (head) => {
    const lines = [`Head ${heads.name(head)}`];
    if (effects && !Number.isNaN(effects.after[head])) {
      lines.push(`${followed(effects.targets)} ${byCut ? "with its cut" : "without it"}: ${changeText(effects, head)}`);
    }
    if (live.removable) lines.push(removed.has(head) ? "removed: double click restores it" : "double click removes it");
    return lines;
  };

  function drawMaps() {
    if (!example) return;
    const room = node.clientWidth - 6;
    const narrow = room < 760 || (heads.widest > 16 && heads.layers > 16) || heads.layers > 20;
    const focused = mapsPlace.contains(document.activeElement);
    const scene = { example, width: narrow ? room : room * BESIDE, sink: store.shown.sink, colours: palette() };
    const shared = atlas.content.heads_per_key;
    const choose = (/** @type {number} */ head) => store.change({ head });
    maps = thumbnails(heads, { ...scene, shared, say, choose, press: remove });
    const hints = [
      "Every head on this text, rows attend to columns.",
      live.predicts && live.removable && "The strip below a map is the head's effect: blue if the prediction needs it.",
      shared > 1 && "A grey line joins heads that share keys and values.",
    ];
    const caption = element("p", { class: "caption", text: hints.filter(Boolean).join(" ") });
    mapsPlace.replaceChildren(element("div", { class: "scroll" }, maps.node), caption);
    if (focused) maps.node.focus();
    drawShown();
    drawEffects();
    drawRemoved();
  }

  /** Ring the heads that are shown below. */
  function drawShown() {
    const together = headsShown(heads, store.shown);
    const colours = headColours(palette(), together.length);
    const picked = palette().picked;
    /** @type {[number, string][]} */
    const rings = together.map((head, place) => [head, together.length > 1 ? colours[place] : picked]);
    maps?.select(rings.sort(([a], [b]) => Number(b === store.shown.head) - Number(a === store.shown.head)));
  }

  function drawExpected() {
    if (!answer) return;
    const { predictions, overall } = answer;
    const follow = (/** @type {number} */ token) => {
      target = token;
      drawExpected();
      measure();
    };
    const [only] = predictions;
    const single = predictions.length === 1 && live.removable;
    const following = single ? { target: target ?? only.own?.id ?? only.before[0][2], follow } : null;
    const tables = predictionTables(predictions, answer.words, isChanged(), following);
    const line = overall && !predictions.length ? overallLine(overall, isChanged()) : "";
    expected.replaceChildren(...tables, line && element("p", { class: "remark", text: line }));
  }

  function drawEffects() {
    const known = effects;
    maps?.measure((head) => (known ? changeOf(known, head) : NaN));
    if (!live.predicts || !live.removable) return;
    const how = (/** @type {string} */ value) => {
      byCut = value === "cut";
      measure();
      drawEffects();
    };
    const options = { colours: palette(), removed, current: store.shown.head, byCut };
    const choose = (/** @type {number} */ head) => store.change({ head });
    const title = known ? `Which heads matter for ${followed(known.targets)}` : "Which heads matter …";
    const kind = toggle("What happens to each head", KINDS, byCut ? "cut" : "removal", how);
    ranking.replaceChildren(
      element("h3", { text: title }),
      words.isCut() ? element("div", { class: "controls" }, "Each head alone is ", kind) : "",
      ...(known ? effectList(known, heads, { ...options, choose, remove }) : []),
    );
  }

  function drawRemoved() {
    maps?.cross(removed);
    const restore = () => {
      removed.clear();
      drawRemoved();
      read();
    };
    const options = { current: store.shown.head, removable: live.removable, remove, restore };
    removal.replaceChildren(...removalBar(heads, removed, options));
    if (effects) drawEffects();
  }

  return (shown, changed) => {
    if (changed.has("head") && !changed.has("view") && !choosing) opening = false;
    if (joinHead(store, changed)) return undefined;
    if (changed.has("text") && shown.text && shown.text !== text) {
      box.value = shown.text;
      retype(shown.text);
    }
    const several = anyOf(changed, "several", "chosen");
    const redraw = anyOf(changed, "view", "unit", "sink", "theme", "size") || several;
    if (redraw) controls.replaceChildren(severalToggle(store), unitToggle(store), sinkCheckbox(store));
    if (redraw || changed.has("head")) chips.replaceChildren(headChips(shell));
    if (!example) return read();
    if (anyOf(changed, "view", "theme", "size", "sink")) drawMaps();
    else if (several || changed.has("head")) {
      drawShown();
      drawRemoved();
    }
    if ((several || changed.has("head")) && words.follows()) read();
    if (redraw || changed.has("head")) return pictures.draw();
    if (changed.has("pinned")) pictures.focusOn(shown.pinned);
    return undefined;
  };
});
