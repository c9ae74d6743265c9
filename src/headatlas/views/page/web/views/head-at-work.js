/** Below the wall: the chosen head on one sentence, with the pairs that it is known for. */

import { divide, fittingPairs, tokenMap, unitMap } from "../data/attention.js";
import { percent } from "../data/frames.js";
import { capitalised } from "../data/measures.js";
import { saysOf } from "../data/roles.js";
import { isSink } from "../data/sink.js";
import { button, element, unbroken } from "../dom.js";
import { passage } from "../pictures/passage.js";
import { exampleSelect } from "./example-controls.js";

const NO_EXAMPLES = "This atlas keeps no examples. Run the survey again with --examples 60 to see heads at work.";

/** @param {Context} context */
export function headAtWork(context) {
  const { atlas, store } = context;
  const { heads, roles, content, examples } = atlas;
  const title = element("h2", { "aria-live": "polite" });
  const says = element("span", { class: "faint" });
  const evidence = element("p", { class: "evidence" });
  const tools = element("div", { class: "controls" });
  const body = element("div");
  const key = element(
    "span",
    { class: "workkey" },
    element("i", { class: "track" }),
    "under a word: share of its attention at work",
  );
  const top = element("div", { class: "top" }, title, says, examples.length ? key : "");
  const node = element("section", { class: "panel work", "aria-label": "A head at work" }, top, evidence, body, tools);
  let turn = 0;
  /** @type {ReturnType<typeof passage>|null} */
  let text = null;

  function describe() {
    const { head } = store.shown;
    const { share } = roles[head];
    title.textContent = `A head at work: ${heads.name(head)}`;
    const rest = Number.isNaN(share) ? "" : ` ${percent(share)} of its attention rests on ${content.resting?.on}.`;
    const said = saysOf(roles[head]);
    says.textContent = `${said}.${rest}`;
    const { evidence: figures } = roles[head];
    evidence.textContent = unbroken(capitalised(figures));
    evidence.hidden = !figures;
  }

  function drawTools() {
    const { head, example, card } = store.shown;
    const best = content.seen?.[head];
    const seen = button("Where it is seen best", () => store.change({ example: best }), {
      class: "quiet",
      disabled: best === undefined || best === example,
    });
    const picker = exampleSelect(context);
    picker.classList.add("grow");
    const weights = button("All its weights here", () => store.change({ view: "sentence" }), { class: "quiet" });
    tools.replaceChildren(
      ...(examples.length ? [picker, content.seen ? seen : "", weights] : []),
      button(card ? "Close the card" : `All about head ${heads.name(head)}`, () => store.change({ card: !card }), {
        class: "quiet",
        "aria-expanded": String(Boolean(card)),
      }),
    );
  }

  async function draw() {
    describe();
    drawTools();
    if (!examples.length) {
      body.replaceChildren(element("p", { class: "remark", text: NO_EXAMPLES }));
      return;
    }
    const started = (turn += 1);
    const { head, example: number } = store.shown;
    const example = await atlas.example(number);
    if (started !== turn) return; // a newer drawing has begun
    const division = divide(example, "words", content.special.unk);
    const { length } = example.tokens;
    const map = unitMap(tokenMap(example.maps, head, length), length, division, content.words_from);
    const { units } = division;
    const fits = fittingPairs(example, units, roles[head], atlas.best);
    text = passage({
      units,
      weight: (from, to) => map[from * units.length + to],
      rests: (place) => isSink(units[place]),
      fit: (from, to) => fits.get(from * units.length + to) ?? "",
      label: `Head ${heads.name(head)} on example ${number + 1}: left and right move between words, Enter keeps one`,
    });
    body.replaceChildren(text.node);
    text.draw();
  }

  return {
    node,
    draw,
    drawTools,
    /** Draw the arrows again where the words are now. */
    settle: () => text?.draw(),
  };
}
