/** Controls of the views that show examples. */

import { exploreCommand, folderOf, joined } from "../data/commands.js";
import { UNITS, exampleGroups } from "../data/options.js";
import { SEVERAL, headsShown, keyGroups, layerOf } from "../data/several.js";
import { button, checkbox, element, select, toggle } from "../dom.js";
import { headColours } from "../pictures/head-colours.js";

export const NO_EXAMPLES = "This atlas has no examples. Run the survey again with --examples 60 to keep some.";
const EXPLORER =
  "This page is a file and cannot run the model. Copy this command into a terminal to see every head on this text, " +
  "to change it or type your own, to remove heads and to cut attention:";

/** @param {Context} context */
export function exampleSelect({ atlas, store }) {
  const change = (/** @type {string} */ value) => store.change({ example: Number(value) });
  return select("Example", exampleGroups(atlas), String(store.shown.example), change);
}

/** Words or tokens. @param {Store} store */
export function unitToggle(store) {
  return toggle("Units", UNITS, store.shown.unit, (unit) => store.change({ unit, pinned: [] }));
}

/** With or without the first token and special tokens. @param {Store} store */
export function sinkCheckbox(store) {
  return checkbox("without the sink", !store.shown.sink, (without) => store.change({ sink: !without, pinned: [] }));
}

/** One head, several or a layer. @param {Store} store */
export function severalToggle(store) {
  const change = (/** @type {string} */ several) => store.change({ several, chosen: [store.shown.head] });
  return toggle("How many heads", SEVERAL, store.shown.several, change);
}

/**
 * Where several heads are shown, a head that is chosen anywhere joins them. Returns whether it did.
 * @param {Store} store @param {Set<string>} changed
 */
export function joinHead(store, changed) {
  const { several, chosen, head } = store.shown;
  if (several !== "several" || !changed.has("head") || chosen.includes(head)) return false;
  store.change({ chosen: [...chosen, head] });
  return true;
}

/**
 * A chip for each head of the layer and for those chosen elsewhere, in groups that share keys and values.
 * @param {Context} context
 */
export function headChips({ atlas, store, palette }) {
  const { heads, content } = atlas;
  const { several, head } = store.shown;
  const node = element("div", { class: "heads", role: "group", "aria-label": "Heads shown together" });
  if (several === "one") return node;
  const together = headsShown(heads, store.shown);
  const colours = headColours(palette(), together.length);
  const layer = layerOf(heads, head);
  /** @param {number} index */
  const chip = (index) => {
    const place = together.indexOf(index);
    const press = () => {
      const rest = place < 0 ? [...together, index] : together.filter((other) => other !== index);
      if (!rest.length) return;
      store.change({ several: "several", chosen: rest, head: rest.includes(head) ? head : rest[0] });
    };
    const made = button(heads.name(index), press, { class: "chip", "aria-pressed": String(place >= 0) });
    if (place >= 0) made.style.setProperty("--head", colours[place]);
    return made;
  };
  const elsewhere = together.filter((index) => !layer.includes(index));
  const shared = content.heads_per_key;
  const groups = keyGroups(layer, shared > 1 ? shared : layer.length);
  const lists = [elsewhere, ...groups].filter((list) => list.length);
  node.append(...lists.map((list) => element("span", {}, ...list.map(chip))));
  if (shared > 1) node.append(element("span", { class: "remark", text: "Each group shares keys and values." }));
  return node;
}

/**
 * How to open an example in the explorer: a button where there is one, else the command to copy.
 * @param {Context} context
 */
export function exploreExample({ atlas, store }) {
  const { content } = atlas;
  const text = joined(atlas.examples[store.shown.example].words);
  const go = () => store.change({ view: "live", text });
  if (content.live) return button("Open in the live view", go, { class: "quiet" });
  const command = exploreCommand(folderOf(location) ?? content.name, text);
  const code = element("code", { text: command });
  const said = element("span", { class: "remark", role: "status" });
  const copy = async () => {
    getSelection()?.selectAllChildren(code);
    const copied = await navigator.clipboard?.writeText(command).then(
      () => true,
      () => false,
    );
    said.textContent = copied ? "Copied." : "Press Ctrl-C to copy.";
  };
  return element(
    "details",
    { class: "command" },
    element("summary", { text: "Open in the explorer" }),
    element("p", { class: "remark", text: EXPLORER }),
    element("div", { class: "copy" }, code, button("Copy", copy, { class: "quiet" }), said),
  );
}
