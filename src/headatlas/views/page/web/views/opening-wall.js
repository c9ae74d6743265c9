/** The left of the opening view: the wall, and a legend that counts its cells and singles out some of them. */

import { counted } from "../data/frames.js";
import { NO_ROLE, RESTS, ROLES, WORKS, chosenHeads, chosenNames, countHeads } from "../data/roles.js";
import { button, element, svg } from "../dom.js";
import { sampleCell } from "../pictures/role-cell.js";
import { wall } from "../pictures/wall.js";
import { savers } from "../saving.js";

const SIDE = 206; // pixels of the legend beside the wall
const BELOW = 1.3; // times as many heads as layers, from which the legend stands below
const NARROW = 640; // pixels of a window with one column
const BAR = 26; // pixels of the longest bar in the legend

/** @param {Context} context */
export function openingWall({ atlas, store, palette }) {
  const { heads, roles, content } = atlas;
  const measured = roles.some(({ share }) => !Number.isNaN(share));
  const stage = element("div", { class: "wall" });
  const legend = element("div", { class: "roles" });
  const says = element("p", { class: "says", "aria-live": "polite" });
  const model = element("div", { class: "model" }, stage, legend);
  const size = `${counted(heads.total)} heads, ${heads.layers} layers`;
  const save = savers(
    () => "heads",
    () => /** @type {SVGElement} */ (stage.querySelector("svg")),
    () => palette().paper,
  );
  const top = element(
    "div",
    { class: "top" },
    element("h2", { text: "What each head does" }),
    element("span", { class: "faint", text: size }),
    save,
  );
  const node = element("section", { class: "panel", "aria-label": "What each head does" }, top, model, says);
  /** @type {import("../pictures/wall.js").Wall|null} */
  let grid = null;

  function draw() {
    const narrow = window.innerWidth < NARROW;
    const below = narrow || heads.widest > BELOW * heads.layers;
    model.classList.toggle("below", below);
    const width = model.clientWidth - (below ? 0 : SIDE);
    const height = Math.min(560, Math.max(320, window.innerHeight - (below ? 420 : 230)));
    grid = wall(atlas, { width, height }, palette(), (head) => store.change({ head }));
    grid.select(store.shown.head);
    stage.replaceChildren(grid.node);
    filter();
  }

  /** Fade what is not chosen, and say how many heads are left. */
  function filter() {
    const { only } = store.shown;
    const test = chosenHeads(atlas, only);
    grid?.fade(test);
    drawLegend();
    if (!test) {
      says.textContent = rule();
      return;
    }
    const number = countHeads(heads, test);
    const names = chosenNames(only).filter((name) => heads.parse(name) < 0);
    const which = names.length ? `: ${names.join(", ")} ` : " ";
    says.replaceChildren(
      element("b", { text: `${counted(number)} of ${counted(heads.total)}` }),
      ` heads${which}`,
      button("Show all", () => store.change({ only: "" }), { class: "quiet" }),
    );
  }

  function rule() {
    const { least = 0, on = "" } = content.resting ?? {};
    const states = `Filled: at work. Hollow: rests, over ${Math.round(100 * least)} % of its attention on ${on}.`;
    const many = roles.some(({ labels }) => labels.length > 1) ? " A head with several labels shows the rarest." : "";
    return (measured ? states : "") + many;
  }

  function drawLegend() {
    const families = [...new Set(Object.values(ROLES).map(({ family }) => family))];
    /** @type {[title: string, names: string[]][]} */
    const groups = families.map((family) => [
      family,
      Object.keys(ROLES).filter((role) => ROLES[role].family === family),
    ]);
    groups.push(["No role found", Object.keys(NO_ROLE)]);
    if (measured) groups.push(["State of every head", [RESTS, WORKS]]);
    const rows = groups.map(([title, names]) => [title, names.map(entry).filter((row) => row !== null)]);
    const most = Math.max(1, ...Object.keys(ROLES).map((role) => entry(role)?.number ?? 0));
    const shown = rows.filter(([, list]) => list.length);
    legend.replaceChildren(
      ...shown.map(([title, list]) =>
        element(
          "div",
          { class: "group", role: "group", "aria-label": String(title) },
          element("h3", { text: String(title) }),
          .../** @type {Row[]} */ (list).map((row) => legendRow(row, most)),
        ),
      ),
    );
  }

  /** How many heads a row of the legend stands for; null if none. @param {string} name */
  function entry(name) {
    const test = /** @type {(index: number) => boolean} */ (chosenHeads(atlas, name));
    const number = countHeads(heads, test);
    return number ? { name, number, resting: countHeads(heads, (index) => test(index) && roles[index].rests) } : null;
  }

  /** @param {Row} row @param {number} most */
  function legendRow({ name, number, resting }, most) {
    const colours = palette();
    const state = name === RESTS || name === WORKS;
    const head = { role: state ? "state" : name, rests: name === RESTS, label: ROLES[name]?.sign ?? "" };
    const pressed = chosenNames(store.shown.only).includes(name);
    const title = name === RESTS ? "hollow: rests" : name === WORKS ? "filled: at work" : name;
    const attributes = {
      class: "role",
      "aria-pressed": String(pressed),
      "data-role": name,
      "aria-label": `${title}: ${number} heads`,
    };
    const node = button("", () => toggle(name), attributes);
    node.append(
      state ? stateCell(name === RESTS, colours.faint) : sampleCell(head, colours),
      element("span", { class: "label", text: title }),
      element("span", { class: "count" }, name in ROLES ? bar(name, number, resting, most) : "", counted(number)),
    );
    return node;
  }

  /** How many heads have a role: filled those at work. @param {string} name */
  function bar(name, number = 0, resting = 0, most = 1) {
    const colours = palette();
    const [all, working] = [number, number - resting].map((part) => Math.max(part ? 2 : 0, (BAR * part) / most));
    const line = colours.line(name);
    return svg(
      "svg",
      { viewBox: `0 0 ${BAR + 2} 10`, width: BAR + 2, height: 10, "aria-hidden": "true" },
      svg("rect", { x: BAR + 1 - all, y: 1.5, width: all, height: 7, fill: "none", stroke: line, "stroke-width": 1 }),
      svg("rect", { x: BAR + 1 - all, y: 1.5, width: working, height: 7, fill: line }),
    );
  }

  /** @param {string} name */
  function toggle(name) {
    const names = chosenNames(store.shown.only).filter((other) => heads.parse(other) < 0);
    const left = names.includes(name) ? names.filter((other) => other !== name) : [...names, name];
    store.change({ only: left.join(",") });
    /** @type {HTMLElement|null} */ (legend.querySelector(`[data-role="${name}"]`))?.focus();
  }

  return {
    node,
    draw,
    filter,
    /** @param {number} head */
    select: (head) => grid?.select(head),
  };
}

/** @param {boolean} hollow @param {string} colour */
function stateCell(hollow, colour) {
  const box = { x: 1.5, y: 1.5, width: 17, height: 13, rx: 3, stroke: colour, "stroke-width": 2 };
  const node = svg("svg", { viewBox: "0 0 20 16", width: 20, height: 16, "aria-hidden": "true" });
  node.append(svg("rect", { ...box, fill: hollow ? "none" : colour }));
  return node;
}
