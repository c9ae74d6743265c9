/** The tables: each as it is, sorted and filtered, and those of the paper with this atlas beside them. */

import { counted, numberFormat } from "../data/frames.js";
import { spaced } from "../data/measures.js";
import { button, checkbox, element, select } from "../dom.js";
import { remark } from "../pictures/strips.js";
import { csvSaver } from "../saving.js";
import { anyOf, view } from "../view.js";

const ROW = 26; // pixels
const SPARE = 12; // rows drawn beyond those that are visible
const PAPER = "paper-";
/** Columns that name a head, each after that of its layer. @type {[string, string][]} */
const HEAD_COLUMNS = [
  ["layer", "head"],
  ["layer_a", "head_a"],
  ["layer_b", "head_b"],
  ["nearest_layer", "nearest_head"],
];

export const tablesView = view("tables", "Tables", "Tables", ({ atlas, store, node, controls, remark: about }) => {
  const body = element("div", { class: "table-body", tabindex: 0, role: "region", "aria-label": "Rows" });
  node.append(controls, about, body);
  const { comparisons, tables } = atlas.content;
  let [filter, chosenOnly] = ["", false];
  /** @type {{name: string, descending: boolean}|null} */
  let sort = null;
  /** @type {number[]} */
  let rows = [];
  let refresh = () => {};

  /** @type {Groups} */
  const groups = [
    [
      "Beside the paper",
      comparisons.map(({ title }, place) => [PAPER + (place + 1), title[0] ?? `Table ${place + 1}`]),
    ],
    [atlas.sides ? "This comparison" : "This atlas", Object.keys(tables).map((name) => [name, spaced(name)])],
  ];
  const choices = groups.filter(([, list]) => list.length);
  const names = choices.flatMap(([, list]) => list.map(([name]) => name));

  function draw() {
    const name = names.includes(store.shown.table) ? store.shown.table : names[0];
    if (name === undefined) {
      about.textContent = "This atlas has no tables.";
      return;
    }
    const picker = select("Table", choices, name, (table) => {
      [filter, chosenOnly, sort] = ["", false, null];
      store.change({ table });
    });
    if (name.startsWith(PAPER)) drawComparison(picker, comparisons[Number(name.slice(PAPER.length)) - 1]);
    else drawFrame(picker, name);
  }

  /** A table of the paper. @param {HTMLElement} picker @param {PaperTable} table */
  function drawComparison(picker, { title, columns, cells, notes }) {
    const titles = columns.map((column) => (column.group ? `${column.group}: ${column.title}` : column.title));
    controls.replaceChildren(
      picker,
      csvSaver(fileName(atlas.content.name, title[0] ?? "beside the paper"), titles, () => cells),
    );
    about.replaceChildren(...title.slice(1).flatMap((text, place) => (place ? [element("br"), text] : [text])));
    const heading = columns.map((column) => element("th", { text: column.title, scope: "col", ...numeric(column) }));
    const lines = cells.map((row) =>
      element(
        "tr",
        {},
        ...row.map((text, place) => element("td", numeric(columns[place]), linked(columns[place], text))),
      ),
    );
    const head = element("thead", {}, groupRow(columns), element("tr", {}, ...heading));
    body.onscroll = null;
    body.replaceChildren(element("table", {}, head, element("tbody", {}, ...lines)), ...notes.map(remark));
  }

  /**
   * A head of this atlas beside the paper can be chosen.
   * @param {{title: string, group: string}} column @param {string} text
   */
  function linked({ title, group }, text) {
    const head = title === "head" && group === "this atlas" ? atlas.heads.parse(text) : -1;
    return head < 0 ? text : headButton({ head }, text);
  }

  /** @param {Change} change @param {string} text */
  function headButton(change, text) {
    return button(text, () => store.change(change), { class: "link" });
  }

  /** Whether a choice is what is shown. @param {Change|null} change */
  function isShown(change) {
    const entries = Object.entries(change ?? {});
    return (
      change !== null && entries.every(([name, value]) => store.shown[/** @type {keyof Shown} */ (name)] === value)
    );
  }

  /** A table of this atlas. @param {HTMLElement} picker @param {string} name */
  function drawFrame(picker, name) {
    const frame = /** @type {Frame} */ (atlas.frames.get(name));
    const { columns, values } = frame;
    const { rows: all, shown, about: meaning } = tables[name];
    const headColumns = HEAD_COLUMNS.filter((pair) => frame.has(...pair));
    const layerOf = new Map(headColumns.map(([layer, head]) => [head, layer]));
    /** The choice of the head that a column names in a row. @param {string} column @param {number} row */
    const choiceOf = (column, row) => {
      const layer = layerOf.get(column);
      return layer ? atlas.choice(column, frame.get(layer)[row], frame.get(column)[row]) : null;
    };
    /** @param {number} row */
    const isChosen = (row) => headColumns.some(([, head]) => isShown(choiceOf(head, row)));
    const search = element("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter rows" });
    search.value = filter;
    search.addEventListener("input", () => {
      filter = search.value;
      fill();
    });
    const titles = columns.map((column) => column.name);
    const onlyChosen = checkbox("only the chosen head", chosenOnly, (checked) => {
      chosenOnly = checked;
      fill();
    });
    const cells = () => rows.map((row) => values.map((column) => column[row]));
    const save = csvSaver(fileName(atlas.content.name, name), titles, cells);
    controls.replaceChildren(picker, search, headColumns.length ? onlyChosen : "", save);
    const count = element("span");
    const cut = ` The first ${counted(shown)} of ${counted(all)} rows; tables/${name}.csv has all of them.`;
    about.replaceChildren(meaning && meaning.replace(/([^.?])$/, "$1.") + " ", count, shown < all ? cut : "");
    const formats = values.map((column, place) =>
      columns[place].number ? numberFormat(column) : (/** @type {Cell} */ value) => inWords(value ?? ""),
    );
    const heading = columns.map((column) => {
      const click = () => {
        const descending = sort?.name === column.name ? !sort.descending : column.number;
        sort = { name: column.name, descending };
        fill();
      };
      const title = button(spaced(column.name), click, { class: "link", title: column.meaning });
      return element("th", { scope: "col", ...numeric(column) }, title);
    });
    const lines = element("tbody");
    body.replaceChildren(
      element("table", { class: "rows" }, element("thead", {}, element("tr", {}, ...heading)), lines),
    );

    function fill() {
      const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
      /** @param {number} row */
      const text = (row) =>
        values
          .flatMap((column, place) => [formats[place](column[row]), column[row] ?? ""]) // as shown, and as in the file
          .join(" ")
          .toLowerCase();
      rows = frame.where((row) => {
        if (chosenOnly && headColumns.length && !isChosen(row)) return false;
        return !words.length || words.every((word) => text(row).includes(word));
      });
      if (sort) rows = frame.sorted(rows, sort.name, sort.descending);
      heading.forEach((th, place) => {
        if (sort?.name !== columns[place].name) th.removeAttribute("aria-sort");
        else th.setAttribute("aria-sort", sort.descending ? "descending" : "ascending");
      });
      count.textContent = rows.length === 1 ? "1 row." : `${counted(rows.length)} rows.`;
      body.scrollTop = 0;
      drawVisible();
    }

    /** Draw only the rows that are visible. */
    function drawVisible() {
      const first = Math.max(0, Math.floor(body.scrollTop / ROW) - SPARE);
      const last = Math.min(rows.length, first + Math.ceil((body.clientHeight || 600) / ROW) + 2 * SPARE);
      /** @param {number} number of rows */
      const space = (number) => {
        const cell = element("td", { colspan: columns.length, class: "space" });
        cell.style.height = `${number * ROW}px`;
        return element("tr", { "aria-hidden": "true" }, cell);
      };
      const drawn = rows.slice(first, last).map((row) => {
        const cells = columns.map((column, place) => {
          const text = formats[place](values[place][row]);
          const change = choiceOf(column.name, row);
          return element("td", numeric(column), change ? headButton(change, text) : text);
        });
        return element("tr", { class: isChosen(row) ? "chosen" : "" }, ...cells);
      });
      lines.replaceChildren(space(first), ...drawn, space(rows.length - last));
    }
    body.onscroll = drawVisible;
    refresh = () => (chosenOnly ? fill() : drawVisible());
    fill();
  }

  return (_shown, changed) => {
    if (anyOf(changed, "view", "table", "size")) {
      refresh = () => {};
      draw();
    } else if (anyOf(changed, "head", "other")) refresh();
  };
});

/** @param {{number: boolean}} column */
function numeric({ number }) {
  return { class: number ? "number" : "" };
}

/**
 * The row above the titles that groups columns; none if there is only one group.
 * @param {PaperTable["columns"]} columns
 */
function groupRow(columns) {
  /** @type {[text: string, span: number][]} */
  const groups = [];
  for (const { group } of columns) {
    const last = groups.at(-1);
    if (last && last[0] === group) last[1] += 1;
    else groups.push([group, 1]);
  }
  if (groups.length < 2) return "";
  const cells = groups.map(([text, colspan]) => element("th", { text, colspan, scope: "colgroup", class: "group" }));
  return element("tr", {}, ...cells);
}

/** A name from the code, such as head_to_dependent, as words; anything else as it is. @param {string} text */
function inWords(text) {
  return /^[a-z]+(_[a-z]+)+$/.test(text) ? spaced(text) : text;
}

/** The name of a file for a table of a model. @param {...string} parts */
function fileName(...parts) {
  const letters = parts.map((part) => part.toLowerCase().replace(/[^\p{L}\p{N}_.-]+/gu, "-"));
  return letters.join("-").replace(/-{2,}/g, "-").slice(0, 80).replace(/^[-.]+|[-.]+$/g, "");
}
