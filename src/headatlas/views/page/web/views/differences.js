/** The differences: of one table at a time, the surest or the largest first, each with its interval. */

import { FONT, checkbox, element, fitted, select, svg, toggle } from "../dom.js";
import { csv, numberFormat } from "../data/frames.js";
import { isShare, measureLabel } from "../data/measures.js";
import { save, savers } from "../saving.js";
import { tip } from "../tip.js";

const ROW = 24; // pixels
const TOP = 46;
const STAGE_PADDING = 30;
const MOST_ROWS = 60;
const SCOPES = {
  best: "best heads",
  head: "head by head",
  layer: "means of layers",
  model: "means over all heads",
  row: "as they are",
};
const BY_CHANCE =
  "Intervals are 95 % ones, not corrected for their number: where nothing differs, one in twenty still excludes 0.";
const COLOURS = "Orange: higher in B, blue: lower, grey: the interval includes 0.";

export const differencesView = { name: "differences", title: "Differences", create };

function create({ atlas, store, palette, room }) {
  const node = element("section", { class: "view", "aria-label": "Differences" });
  const controls = element("div", { class: "controls" });
  const remark = element("p", { class: "remark" });
  const stage = element("div", { class: "stage" });
  node.append(controls, remark, stage);
  const frame = atlas.frames.get("differences");
  const groups = groupsOf(frame);
  let [order, clear, marked] = ["surest", false, -1];
  let rows = [];
  let lines = [];

  const group = () =>
    groups.get(store.shown.among) ??
    groups.get(`dependency_best/${atlas.content.relations_by}`) ??
    [...groups.values()][0];
  const scope = () =>
    group().scopes.has(store.shown.scope)
      ? store.shown.scope
      : Object.keys(SCOPES).find((name) => group().scopes.has(name));

  function drawControls() {
    const now = group();
    const scopes = Object.entries(SCOPES).filter(([name]) => now.scopes.has(name));
    const redraw = (change) => (value) => {
      change(value);
      drawControls();
      draw();
    };
    const tables = [...groups].map(([id, { label }]) => [id, label]);
    const titles = frame.columns.map(({ name }) => name);
    const click = () =>
      save(
        `differences-${now.table}.csv`,
        new Blob(
          [
            csv(
              titles,
              rows.map((row) => frame.values.map((column) => column[row])),
            ),
          ],
          { type: "text/csv" },
        ),
      );
    controls.replaceChildren(
      select("Table", [["", tables]], now.id, (among) => store.change({ among })),
      scopes.length > 1 ? select("Rows", [["", scopes]], scope(), (value) => store.change({ scope: value })) : "",
      toggle(
        "Order",
        [
          ["surest", "Surest"],
          ["largest", "Largest"],
        ],
        order,
        redraw((value) => (order = value)),
      ),
      checkbox(
        "only intervals without 0",
        clear,
        redraw((value) => (clear = value)),
      ),
      savers(
        () => `differences-${now.table}`,
        () => stage.querySelector("svg"),
        () => palette().paper,
      ),
      element("button", {
        type: "button",
        class: "quiet",
        text: "CSV",
        "aria-label": "Download these rows as CSV",
        on: { click },
      }),
    );
  }

  function draw() {
    const now = group();
    const all = frame.where(
      (row) =>
        frame.get("table")[row] === now.table &&
        frame.get("column")[row] === now.column &&
        frame.get("scope")[row] === scope(),
    );
    rows = ranked(frame, all, order, clear);
    const known = all.filter((row) => frame.get("low")[row] !== null);
    const apart = known.filter((row) => excludesZero(frame, row)).length;
    const shown = rows.slice(0, MOST_ROWS);
    const cut =
      rows.length > shown.length
        ? ` The first ${shown.length} of ${rows.length.toLocaleString("en")} are drawn; CSV has all.`
        : "";
    remark.textContent = known.length
      ? `${apart.toLocaleString("en")} of ${known.length.toLocaleString("en")} intervals exclude 0. ${BY_CHANCE} ${COLOURS}${cut}`
      : `These differences have no intervals.${cut}`;
    marked = -1;
    if (!shown.length) {
      lines = [];
      stage.replaceChildren(
        element("p", {
          class: "remark",
          text: clear ? "No interval excludes 0." : "There is nothing to compare here.",
        }),
      );
      return;
    }
    stage.replaceChildren(chart(shown, now));
    mark();
  }

  function chart(shown, now) {
    const colours = palette();
    const width = room().width - STAGE_PADDING;
    const at = layout(width);
    const share = isShare(now.table, now.column) || ["held_out", "lead"].includes(now.column);
    const values = ["value_a", "value_b", "difference"].flatMap((name) => shown.map((row) => frame.get(name)[row]));
    const number = numberFormat(values);
    const format = (value) => (value === null ? "–" : share ? (100 * value).toFixed(1) : number(value));
    const signed = (value) => (value > 0 ? "+" : "") + format(value);
    const ends = shown
      .flatMap((row) => ["difference", "low", "high"].map((name) => frame.get(name)[row]))
      .filter((value) => value !== null);
    const far = Math.max(1e-12, ...ends.map(Math.abs));
    const x = (value) => at.axis + ((value + far) / (2 * far)) * (at.end - at.axis);
    const height = TOP + shown.length * ROW + 8;
    const text = (left, y, words, attributes = {}) =>
      svg("text", { x: left, y, text: words, fill: colours.ink, ...attributes });
    const right = { "text-anchor": "end" };
    const faint = { fill: colours.faint };
    const picture = svg("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      tabindex: 0,
      role: "listbox",
      "aria-label": "Differences: arrow keys move between rows",
      "font-family": FONT,
      "font-size": 13,
    });
    picture.append(
      text(at.a, TOP - 12, share ? "A, %" : "A", { ...right, ...faint }),
      text(at.b, TOP - 12, share ? "B, %" : "B", { ...right, ...faint }),
      text(at.difference, TOP - 12, share ? "B − A, points" : "B − A", { ...right, ...faint }),
      ...[-far, 0, far].map((value, place) =>
        text(x(value), TOP - 12, value ? signed(value) : "0", {
          ...faint,
          "text-anchor": ["start", "middle", "end"][place],
        }),
      ),
      svg("path", { d: `M${x(0)} ${TOP - 4}V${height - 6}`, stroke: colours.faint, "stroke-opacity": 0.6 }),
    );
    lines = shown.map((row, place) => {
      const [low, high, difference] = ["low", "high", "difference"].map((name) => frame.get(name)[row]);
      const y = TOP + place * ROW;
      const sure = low !== null && excludesZero(frame, row);
      const tone = low === null || sure ? (difference >= 0 ? colours.picked : colours.accent) : colours.faint;
      const title = rowTitle(atlas, frame, row);
      const ground = svg("rect", { x: 0, y, width, height: ROW, rx: 5, fill: "transparent" });
      const line = svg(
        "g",
        {
          role: "option",
          id: `difference-${place}`,
          "data-row": row,
          "aria-selected": "false",
          "aria-label": `${title}: ${format(frame.get("value_a")[row])} and ${format(frame.get("value_b")[row])}`,
        },
        ground,
      );
      const base = y + ROW / 2 + 4.5;
      line.append(
        text(8, base, fitted(title, 13, at.title - 8)),
        text(at.a, base, format(frame.get("value_a")[row]), right),
        text(at.b, base, format(frame.get("value_b")[row]), right),
        text(at.difference, base, difference === null ? "–" : signed(difference), {
          ...right,
          "font-weight": sure ? 650 : 400,
        }),
      );
      if (low !== null && high !== null)
        line.append(
          svg("path", {
            d: `M${x(low).toFixed(1)} ${y + ROW / 2}H${x(high).toFixed(1)}`,
            stroke: tone,
            "stroke-width": 2.4,
          }),
        );
      if (difference !== null)
        line.append(
          svg("circle", { cx: x(difference).toFixed(1), cy: y + ROW / 2, r: 4.6, fill: tone, stroke: colours.paper }),
        );
      line.addEventListener("click", () => choose(place));
      line.addEventListener("pointermove", (event) =>
        tip(event, [
          title,
          `A ${said(frame, row, "a", format)}`,
          `B ${said(frame, row, "b", format)}`,
          `B − A ${signed(difference ?? 0)}${low === null ? "" : `, ${signed(low)} to ${signed(high)}`}`,
        ]),
      );
      picture.append(line);
      return { line, ground, row };
    });
    picture.addEventListener("pointerleave", (event) => tip(event, null));
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      choose(Math.max(0, Math.min(lines.length - 1, marked + step)));
    });
    return picture;
  }

  function choose(place) {
    marked = place;
    const { row } = lines[place];
    const [head, other] = [0, 1].map((side) => atlas.pairs.at(frame, row, side));
    if (head >= 0 && other >= 0) store.change({ head, other, side: 0 });
    mark();
    lines[place].line.scrollIntoView({ block: "nearest" });
  }

  function mark() {
    const colours = palette();
    lines.forEach(({ line, ground }, place) => {
      line.setAttribute("aria-selected", String(place === marked));
      ground.setAttribute("fill", place === marked ? colours.empty : "transparent");
    });
    if (marked >= 0) stage.firstChild.setAttribute("aria-activedescendant", `difference-${marked}`);
  }

  return {
    node,
    update(_shown, changed) {
      if (!groups.size) {
        remark.textContent = "This comparison has no differences.";
        return;
      }
      if (["view", "among", "scope", "theme", "size"].some((name) => changed.has(name))) {
        drawControls();
        draw();
      }
    },
  };
}

/** Where the columns end, for a width. */
function layout(width) {
  const title = Math.min(300, width * 0.32);
  const a = title + 64;
  return { title, a, b: a + 62, difference: a + 172, axis: a + 200, end: width - 16 };
}

/** The tables and columns that are compared, each with its scopes. @returns {Map<string, {id: string, table: string, column: string, label: string, scopes: Set<string>}>} */
export function groupsOf(frame) {
  const found = new Map();
  for (let row = 0; row < frame.length; row += 1) {
    const [table, column] = [frame.get("table")[row], frame.get("column")[row]];
    const id = `${table}/${column}`;
    if (!found.has(id))
      found.set(id, {
        id,
        table,
        column,
        label:
          column === "value"
            ? table.replaceAll("_", " ")
            : `${table.replaceAll("_", " ")}: ${column.replaceAll("_", " ")}`,
        scopes: new Set(),
      });
    found.get(id).scopes.add(frame.get("scope")[row]);
  }
  return found;
}

export function excludesZero(frame, row) {
  return frame.get("low")[row] > 0 || frame.get("high")[row] < 0;
}

/** Rows with a difference: by its size, or by how far its interval stays from 0 and then by its size. */
export function ranked(frame, rows, order, clearOnly) {
  const [differences, lows, highs] = ["difference", "low", "high"].map((name) => frame.get(name));
  const size = (row) => Math.abs(differences[row]);
  const gap = (row) => (lows[row] === null ? 0 : Math.max(0, lows[row], -highs[row]));
  return rows
    .filter((row) => differences[row] !== null && (!clearOnly || (lows[row] !== null && excludesZero(frame, row))))
    .sort((a, b) => (order === "surest" ? gap(b) - gap(a) : 0) || size(b) - size(a) || a - b);
}

/** What a row is of: its head or layer, and its measure in words. */
export function rowTitle(atlas, frame, row) {
  const [table, column, scope] = ["table", "column", "scope"].map((name) => frame.get(name)[row]);
  const parts = (frame.get("measure")[row] ?? "")
    .split(/ (?=[a-z_]+=)/)
    .map((part) => part.split(/=(.*)/s).slice(0, 2));
  const key = Object.fromEntries(parts.filter(([name]) => name));
  const plain = Object.values(key).join(", ");
  const what = scope === "best" || scope === "row" ? plain : measureLabel(table, key, column, atlas.content.special);
  const [a, b] = ["a", "b"].map((end) => `${frame.get(`layer_${end}`)[row]}-${frame.get(`head_${end}`)[row]}`);
  const who =
    { head: `${a} `, best: a === b ? ` (${a})` : ` (A ${a}, B ${b})`, layer: `layer ${frame.get("layer_a")[row]} ` }[
      scope
    ] ?? "";
  return scope === "best" ? what + who : who + what;
}

function said(frame, row, end, format) {
  const [low, high] = ["low", "high"].map((name) => frame.get(`${name}_${end}`)[row]);
  return format(frame.get(`value_${end}`)[row]) + (low === null ? "" : ` (${format(low)} to ${format(high)})`);
}
