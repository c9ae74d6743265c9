/** The tables: each as it is, sorted and filtered, and those of the paper with this atlas beside them. */

import { checkbox, element, select } from "../dom.js";
import { csv, numberFormat } from "../data/frames.js";
import { save } from "../saving.js";

const ROW = 26; // pixels
const SPARE = 12; // rows drawn beyond what is seen
const PAPER = "paper-";

export const tablesView = { name: "tables", title: "Tables", create };

function create({ atlas, store }) {
  const node = element("section", { class: "view", "aria-label": "Tables" });
  const controls = element("div", { class: "controls" });
  const about = element("p", { class: "remark" });
  const body = element("div", { class: "table-body", tabindex: 0, role: "region", "aria-label": "Rows" });
  node.append(controls, about, body);
  const { comparisons, tables } = atlas.content;
  let [filter, own, sort] = ["", false, null];
  let rows = [];
  let refresh = () => {};

  const names = () =>
    [
      [
        "Beside the paper",
        comparisons.map((view, place) => [PAPER + (place + 1), view.title[0] ?? `Table ${place + 1}`]),
      ],
      [atlas.sides ? "This comparison" : "This atlas", Object.keys(tables).map((name) => [name, name])],
    ].filter(([, list]) => list.length);
  const known = (name) => Object.hasOwn(tables, name) || comparisons.some((_, place) => name === PAPER + (place + 1));
  const current = () => (known(store.shown.table) ? store.shown.table : (names()[0]?.[1][0][0] ?? ""));

  function draw() {
    const name = current();
    if (!name) {
      about.textContent = "This atlas has no tables.";
      return;
    }
    const change = (table) => {
      [filter, own, sort] = ["", false, null];
      store.change({ table });
    };
    const picker = select("Table", names(), name, change);
    if (name.startsWith(PAPER)) drawComparison(picker, comparisons[Number(name.slice(PAPER.length)) - 1], name);
    else drawFrame(picker, name);
  }

  function saver(name, titles, all) {
    const click = () => save(`${name}.csv`, new Blob([csv(titles, all())], { type: "text/csv" }));
    return element("button", {
      type: "button",
      class: "quiet",
      text: "CSV",
      "aria-label": "Download these rows as CSV",
      on: { click },
    });
  }

  function drawComparison(picker, view, name) {
    const titles = view.columns.map(({ group, title }) => (group ? `${group}: ${title}` : title));
    controls.replaceChildren(
      picker,
      saver(name, titles, () => view.cells),
    );
    about.replaceChildren(...view.title.slice(1).flatMap((text, place) => (place ? [element("br"), text] : [text])));
    const groups = [];
    for (const { group } of view.columns) {
      if (groups.length && groups[groups.length - 1][0] === group) groups[groups.length - 1][1] += 1;
      else groups.push([group, 1]);
    }
    const above = groups.map(([text, colspan]) => element("th", { text, colspan, scope: "colgroup", class: "group" }));
    const heading = view.columns.map(({ title, number }) =>
      element("th", { text: title, scope: "col", class: number ? "number" : "" }),
    );
    const lines = view.cells.map((row) =>
      element(
        "tr",
        {},
        ...row.map((text, place) =>
          element("td", { class: view.columns[place].number ? "number" : "" }, linked(view.columns[place], text)),
        ),
      ),
    );
    const head = element(
      "thead",
      {},
      groups.length > 1 ? element("tr", {}, ...above) : "",
      element("tr", {}, ...heading),
    );
    const notes = view.notes.map((text) => element("p", { class: "remark", text }));
    body.onscroll = null;
    body.replaceChildren(element("table", {}, head, element("tbody", {}, ...lines)), ...notes);
  }

  /** A head of this atlas in a comparison can be chosen. */
  function linked({ title, group }, text) {
    const index = title === "head" && group === "this atlas" ? atlas.heads.parse(text) : -1;
    return index < 0 ? text : headButton({ head: index }, text);
  }

  function headButton(change, text) {
    return element("button", { type: "button", class: "link", text, on: { click: () => store.change(change) } });
  }

  /** Whether a choice is what is shown. */
  function isNow(change) {
    return change !== null && Object.entries(change).every(([name, value]) => store.shown[name] === value);
  }

  function drawFrame(picker, name) {
    const frame = atlas.frames.get(name);
    const { rows: all, shown } = tables[name];
    const named = headColumns(frame);
    const isChosen = (row) =>
      named.some(([layer, head]) => isNow(atlas.choice(head, frame.get(layer)[row], frame.get(head)[row])));
    const search = element("input", {
      type: "search",
      placeholder: "Filter rows",
      "aria-label": "Filter rows",
      value: filter,
    });
    search.addEventListener("input", () => {
      filter = search.value;
      fill();
    });
    const titles = frame.columns.map((column) => column.name);
    const cut =
      shown < all
        ? ` The first ${shown.toLocaleString("en")} of ${all.toLocaleString("en")} rows; all are in tables/${name}.csv.`
        : "";
    controls.replaceChildren(
      picker,
      search,
      named.length ? checkbox("only the chosen head", own, (value) => ((own = value), fill())) : "",
      saver(name, titles, () => rows.map((row) => frame.values.map((column) => column[row]))),
    );
    const count = element("span");
    about.replaceChildren(tables[name].about ? `${tables[name].about}. ` : "", count, cut);
    const formats = frame.values.map((values, place) =>
      frame.columns[place].number ? numberFormat(values) : (value) => value ?? "",
    );
    const heading = frame.columns.map((column) => {
      const click = () => {
        const descending = sort?.name === column.name ? !sort.descending : column.number;
        sort = { name: column.name, descending };
        fill();
      };
      const button = element("button", {
        type: "button",
        class: "link",
        text: column.name,
        title: column.meaning,
        on: { click },
      });
      return element("th", { scope: "col", class: column.number ? "number" : "" }, button);
    });
    const lines = element("tbody");
    const table = element("table", { class: "rows" }, element("thead", {}, element("tr", {}, ...heading)), lines);
    body.replaceChildren(table);

    function fill() {
      const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
      const text = (row) =>
        frame.values
          .map((values, place) => formats[place](values[row]))
          .join(" ")
          .toLowerCase();
      rows = frame.where((row) => {
        if (own && named.length && !isChosen(row)) return false;
        return !words.length || words.every((word) => text(row).includes(word));
      });
      if (sort) rows = frame.sorted(rows, sort.name, sort.descending);
      heading.forEach((th, place) => {
        const mine = sort?.name === frame.columns[place].name;
        if (mine) th.setAttribute("aria-sort", sort.descending ? "descending" : "ascending");
        else th.removeAttribute("aria-sort");
      });
      count.textContent = rows.length === 1 ? "1 row." : `${rows.length.toLocaleString("en")} rows.`;
      body.scrollTop = 0;
      drawSeen();
    }

    /** Only the rows that are seen are drawn. */
    function drawSeen() {
      const first = Math.max(0, Math.floor(body.scrollTop / ROW) - SPARE);
      const last = Math.min(rows.length, first + Math.ceil((body.clientHeight || 600) / ROW) + 2 * SPARE);
      const space = (count) => {
        const cell = element("td", { colspan: frame.columns.length, class: "space" });
        cell.style.height = `${count * ROW}px`;
        return element("tr", { "aria-hidden": "true" }, cell);
      };
      const drawn = rows.slice(first, last).map((row) => {
        const cells = frame.columns.map(({ name: column, number }, place) => {
          const said = formats[place](frame.values[place][row]);
          const layer = named.find(([, head]) => head === column)?.[0];
          const change = layer ? atlas.choice(column, frame.get(layer)[row], frame.get(column)[row]) : null;
          const shownAs = change ? headButton(change, said) : said;
          return element("td", { class: number ? "number" : "" }, shownAs);
        });
        return element("tr", { class: isChosen(row) ? "chosen" : "" }, ...cells);
      });
      lines.replaceChildren(space(first), ...drawn, space(rows.length - last));
    }
    body.onscroll = drawSeen;
    refresh = () => (own ? fill() : drawSeen());
    fill();
  }

  return {
    node,
    update(_shown, changed) {
      if (["view", "table", "size"].some((name) => changed.has(name))) {
        refresh = () => {};
        draw();
      } else if (changed.has("head") || changed.has("other")) refresh();
    },
  };
}

/** The columns that name a head, each with that of its layer. @returns {[string, string][]} */
export function headColumns(frame) {
  const pairs = [
    ["layer", "head"],
    ["layer_a", "head_a"],
    ["layer_b", "head_b"],
    ["nearest_layer", "nearest_head"],
  ];
  return pairs.filter((pair) => frame.has(...pair));
}
