/** The differences: of one table at a time, the surest or the largest first, each with its interval. */

import {
  SCOPES,
  chosenGroup,
  differencesOf,
  excludesZero,
  groupsOf,
  hasShares,
  ranked,
  rowTitle,
  rowsOfGroup,
} from "../data/differences.js";
import { counted, numberFormat } from "../data/frames.js";
import { checkbox, fitted, picture, select, svg, toggle } from "../dom.js";
import { remark as note } from "../pictures/strips.js";
import { csvSaver } from "../saving.js";
import { tip } from "../tip.js";
import { anyOf, view } from "../view.js";

const ROW = 24; // pixels
const TOP = 46;
const SIZE = 13; // pixels of a letter
const MOST_ROWS = 60;
const BY_CHANCE =
  "Intervals are 95 % intervals, not corrected for multiple comparisons: where nothing differs, one in twenty still " +
  "excludes 0.";
const COLOURS = "Orange: higher in B. Blue: lower in B. Grey: the interval includes 0.";
/** @type {Choice[]} */
const ORDERS = [
  ["surest", "Surest"],
  ["largest", "Largest"],
];

/** @typedef {import("../data/differences.js").Group} Group */

/** @type {View} */
export const differencesView = view("differences", "Differences", "Differences", build);

/** @param {import("../view.js").Shell<Comparison>} shell @returns {Update} */
function build(shell) {
  const { atlas, store, palette, node, controls, remark, stage } = shell;
  node.append(controls, remark, stage);
  const frame = differencesOf(atlas);
  const groups = groupsOf(frame);
  let [order, clearOnly, marked] = ["surest", false, -1];
  /** @type {number[]} */
  let rows = [];
  /** @type {{line: SVGElement, ground: SVGElement, row: number}[]} */
  let lines = [];

  const currentGroup = () => chosenGroup(groups, store.shown.among, atlas.content.relations_by);
  const currentScope = () => {
    const { scopes } = currentGroup();
    return scopes.has(store.shown.scope) ? store.shown.scope : Object.keys(SCOPES).find((name) => scopes.has(name));
  };

  function drawControls() {
    const { id, table, scopes } = currentGroup();
    const scopeChoices = Object.entries(SCOPES).filter(([name]) => scopes.has(name));
    /** @type {Choice[]} */
    const tables = [...groups.values()].map((group) => [group.id, group.label]);
    const titles = frame.columns.map(({ name }) => name);
    const redraw = () => {
      drawControls();
      draw();
    };
    controls.replaceChildren(
      select("Table", [["", tables]], id, (among) => store.change({ among })),
      scopeChoices.length > 1
        ? select("Rows", [["", scopeChoices]], currentScope(), (scope) => store.change({ scope }))
        : "",
      toggle("Order", ORDERS, order, (value) => {
        order = value;
        redraw();
      }),
      checkbox("only intervals without 0", clearOnly, (checked) => {
        clearOnly = checked;
        redraw();
      }),
      shell.savers(() => `differences-${table}`),
      csvSaver(`differences-${table}`, titles, () => rows.map((row) => frame.values.map((column) => column[row]))),
    );
  }

  function draw() {
    const group = currentGroup();
    const all = rowsOfGroup(frame, group, currentScope());
    rows = ranked(frame, all, order, clearOnly);
    const known = all.filter((row) => frame.get("low")[row] !== null);
    const clear = known.filter((row) => excludesZero(frame, row)).length;
    const drawn = rows.slice(0, MOST_ROWS);
    const sentences = known.length
      ? [`${counted(clear)} of ${counted(known.length)} intervals exclude 0.`, BY_CHANCE, COLOURS]
      : ["These differences have no intervals."];
    if (rows.length > drawn.length) {
      sentences.push(`The first ${drawn.length} of ${counted(rows.length)} are drawn; the CSV file has all of them.`);
    }
    remark.textContent = sentences.join(" ");
    marked = -1;
    lines = [];
    if (drawn.length) stage.replaceChildren(chart(drawn, group));
    else stage.replaceChildren(note(clearOnly ? "No interval excludes 0." : "There is nothing to compare here."));
    mark();
  }

  /** @param {number[]} drawn rows of the table @param {Group} group */
  function chart(drawn, group) {
    const colours = palette();
    const width = shell.stageWidth();
    const height = TOP + drawn.length * ROW + 8;
    const at = columnsOf(width);
    const share = hasShares(atlas, group);
    const written = numbersOf(drawn, share);
    const far = Math.max(1e-12, ...valuesOf(drawn, "difference", "low", "high").map(Math.abs));
    /** @param {number} value */
    const x = (value) => at.axis + ((value + far) / (2 * far)) * (at.end - at.axis);
    const label = "Differences: arrow keys move between rows";
    const root = picture({ width, height }, label, { tabindex: 0, role: "listbox", "font-size": SIZE });
    const faint = { y: TOP - 12, fill: colours.faint };
    const right = { ...faint, "text-anchor": "end" };
    root.append(
      svg("text", { x: at.a, text: share ? "A, %" : "A", ...right }),
      svg("text", { x: at.b, text: share ? "B, %" : "B", ...right }),
      svg("text", { x: at.difference, text: share ? "B − A, points" : "B − A", ...right }),
      svg("text", { x: x(-far), text: written.signed(-far), ...faint, "text-anchor": "start" }),
      svg("text", { x: x(0), text: "0", ...faint, "text-anchor": "middle" }),
      svg("text", { x: x(far), text: written.signed(far), ...right }),
      svg("path", { d: `M${x(0)} ${TOP - 4}V${height - 6}`, stroke: colours.faint, "stroke-opacity": 0.6 }),
    );
    lines = drawn.map((row, place) => {
      const drawnRow = rowPicture(row, place, width, x, written, colours);
      drawnRow.line.addEventListener("click", () => choose(place));
      root.append(drawnRow.line);
      return drawnRow;
    });
    root.addEventListener("pointerleave", (event) => tip(event, null));
    root.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      choose(Math.max(0, Math.min(lines.length - 1, marked + step)));
    });
    return root;
  }

  /**
   * @param {number} row @param {number} place @param {number} width @param {(value: number) => number} x
   * @param {ReturnType<typeof numbersOf>} written @param {Palette} colours
   */
  function rowPicture(row, place, width, x, { format, signed }, colours) {
    const at = columnsOf(width);
    const values = frame.records([row])[0];
    const { low, high, difference } = values;
    const y = TOP + place * ROW;
    const [middle, base] = [y + ROW / 2, y + ROW / 2 + 4.5];
    const clear = low !== null && excludesZero(frame, row);
    const tone = low === null || clear ? (difference >= 0 ? colours.picked : colours.accent) : colours.faint;
    const title = rowTitle(atlas, frame, row);
    const ground = svg("rect", { x: 0, y, width, height: ROW, rx: 5, fill: "transparent" });
    const label = `${title}: ${format(values.value_a)} and ${format(values.value_b)}`;
    const option = { role: "option", id: `difference-${place}`, "aria-selected": "false", "aria-label": label };
    const text = { y: base, fill: colours.ink, "text-anchor": "end" };
    const line = svg(
      "g",
      { ...option, "data-row": row },
      ground,
      svg("text", { ...text, x: 8, text: fitted(title, SIZE, at.title - 8), "text-anchor": "start" }),
      svg("text", { ...text, x: at.a, text: format(values.value_a) }),
      svg("text", { ...text, x: at.b, text: format(values.value_b) }),
      svg("text", { ...text, x: at.difference, text: signed(difference), "font-weight": clear ? 650 : 400 }),
    );
    if (low !== null && high !== null) {
      const d = `M${x(low).toFixed(1)} ${middle}H${x(high).toFixed(1)}`;
      line.append(svg("path", { d, stroke: tone, "stroke-width": 2.4 }));
    }
    if (difference !== null) {
      line.append(
        svg("circle", { cx: x(difference).toFixed(1), cy: middle, r: 4.6, fill: tone, stroke: colours.paper }),
      );
    }
    /** @param {string} end of the pair, "a" or "b" */
    const side = (end) => {
      const [from, to] = [values[`low_${end}`], values[`high_${end}`]];
      return format(values[`value_${end}`]) + (from === null ? "" : ` (${format(from)} to ${format(to)})`);
    };
    const interval = low === null ? "" : `, ${signed(low)} to ${signed(high)}`;
    const said = [title, `A ${side("a")}`, `B ${side("b")}`, `B − A ${signed(difference)}${interval}`];
    line.addEventListener("pointermove", (event) => tip(event, said));
    return { line, ground, row };
  }

  /** The values of some columns that exist. @param {number[]} drawn @param {...string} names @returns {number[]} */
  function valuesOf(drawn, ...names) {
    return names.flatMap((name) => drawn.map((row) => frame.get(name)[row])).filter((value) => value !== null);
  }

  /** How the numbers of a chart are written. @param {number[]} drawn @param {boolean} share */
  function numbersOf(drawn, share) {
    const number = numberFormat(valuesOf(drawn, "value_a", "value_b", "difference"));
    /** @param {number|null} value */
    const format = (value) => (value === null ? "–" : share ? (100 * value).toFixed(1) : number(value));
    /** @param {number|null} value */
    const signed = (value) => (value !== null && value > 0 ? "+" : "") + format(value);
    return { format, signed };
  }

  /** @param {number} place */
  function choose(place) {
    marked = place;
    const { row, line } = lines[place];
    const [head, other] = [0, 1].map((side) => atlas.pairs.at(frame, row, side));
    if (head >= 0 && other >= 0) store.change({ head, other, side: 0 });
    mark();
    line.scrollIntoView({ block: "nearest" });
  }

  function mark() {
    const colours = palette();
    lines.forEach(({ line, ground }, place) => {
      line.setAttribute("aria-selected", String(place === marked));
      ground.setAttribute("fill", place === marked ? colours.empty : "transparent");
    });
    if (marked >= 0) stage.querySelector("svg")?.setAttribute("aria-activedescendant", `difference-${marked}`);
  }

  return (_shown, changed) => {
    if (!groups.size) {
      remark.textContent = "This comparison has no differences.";
    } else if (anyOf(changed, "view", "among", "scope", "theme", "size")) {
      drawControls();
      draw();
    }
  };
}

/** Where the columns end, for a width. @param {number} width */
function columnsOf(width) {
  const title = Math.min(300, width * 0.32);
  const a = title + 64;
  return { title, a, b: a + 62, difference: a + 172, axis: a + 200, end: width - 16 };
}
