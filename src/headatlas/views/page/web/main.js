/**
 * The page: header, one view at a time, and the card of the chosen head. VIEWS lists all views; the content says which
 * a page has.
 */

import { Atlas } from "./data/atlas.js";
import { Comparison } from "./data/comparison.js";
import { strongest } from "./data/measures.js";
import { firstMeasure } from "./data/measures.js";
import { button, element } from "./dom.js";
import { keepHistory, moveByKeys } from "./navigation.js";
import { Store } from "./store.js";
import { currentTheme, keepTheme, palette, watchTheme } from "./theme.js";
import { attachTip, tip } from "./tip.js";
import { createCard } from "./views/card.js";
import { differencesView } from "./views/differences.js";
import { gridView } from "./views/grid.js";
import { createKeyHelp } from "./views/key-help.js";
import { layersView } from "./views/layers.js";
import { liveView } from "./views/live.js";
import { mapView } from "./views/map.js";
import { overviewView } from "./views/overview.js";
import { createPairCard } from "./views/pair-card.js";
import { createSearch } from "./views/search-box.js";
import { sentenceView } from "./views/sentence.js";
import { sidesView } from "./views/sides.js";
import { tablesView } from "./views/tables.js";
import { weightsView } from "./views/weights.js";

const VIEWS = [
  overviewView,
  mapView,
  gridView,
  sentenceView,
  sidesView,
  differencesView,
  tablesView,
  liveView,
  layersView,
  weightsView,
];
const LEAST = { width: 280, height: 420 }; // pixels of a view
const PADDING = 48; // pixels beside a view, both sides together
const STAYING = new Set(["head", "other", "pinned"]); // changes after which a note is still true
const PAUSE = 80; // milliseconds after the last change of the window's size

async function start() {
  /** @type {Content} */
  const content = JSON.parse(document.getElementById("content")?.textContent ?? "");
  const atlas = await (content.sides ? new Comparison(content) : new Atlas(content)).open();
  const views = content.views.flatMap((name) => VIEWS.filter((view) => view.name === name));
  const first = firstMeasure(atlas.measures);
  const shown = {
    view: views[0].name,
    head: -1,
    other: -1,
    side: 0,
    example: Math.max(
      0,
      atlas.examples.findIndex((example) => example.corpus !== "text"),
    ),
    unit: "words",
    sink: true,
    several: "one",
    chosen: [],
    measure: atlas.colour ?? first?.id ?? "",
    show: "values",
    table: "",
    among: "",
    scope: "",
    direction: "better",
    pinned: [],
    text: "",
    only: "",
    card: false,
    theme: currentTheme(),
  };
  const store = new Store(shown, {
    heads: atlas.heads,
    others: atlas.sides?.[1].heads,
    views: content.views,
    examples: atlas.examples.length,
    complete: (parts) => atlas.complete(parts),
  });
  store.change({ head: content.head ?? (first ? strongest(first) : 0) });
  store.follow(location.hash);
  build(atlas, store, views);
}

/** @param {Atlas|Comparison} atlas @param {Store} store @param {View[]} views */
function build(atlas, store, views) {
  const page = /** @type {HTMLElement} */ (document.getElementById("page"));
  const main = element("main", { id: "main", tabindex: -1 });
  const size = () => ({
    width: Math.max(LEAST.width, main.clientWidth - PADDING),
    height: Math.max(LEAST.height, window.innerHeight - main.offsetTop - 84),
  });
  const common = { store, size, palette: () => palette(store.shown.theme) };
  const context = { ...common, atlas };
  const card = atlas instanceof Comparison ? createPairCard({ ...common, atlas }) : createCard(context);
  /** @type {Map<string, Panel>} */
  const panels = new Map();
  const tabs = views.map(({ name, title }) => {
    const attributes = { role: "tab", id: `tab-${name}`, "aria-controls": "main" };
    return button(title, (event) => choose(name, event), attributes);
  });
  const keys = createKeyHelp();
  const bar = { role: "tablist", "aria-label": "Views", class: "tabs", on: { keydown: moveTab } };
  const theme = button("", () => switchTheme(store), { class: "theme" });
  const { name } = atlas.content;
  page.append(
    element("a", { class: "skip", href: "#main", text: "Skip to the view", on: { click: skip } }),
    element(
      "header",
      {},
      element(
        "div",
        { class: "name" },
        element("h1", { text: name, title: name }),
        element("span", { text: "attention heads" }),
      ),
      element("nav", bar, ...tabs),
      createSearch(context),
      button("?", keys.toggle, { class: "help", "aria-label": "Keys" }),
      theme,
    ),
    element("div", { class: "columns" }, main, Object.keys(atlas.content.tables).length > 0 && card.node),
    keys.node,
  );
  attachTip(page);
  watchTheme((now) => store.change({ theme: now }));
  moveByKeys(store, atlas, main);
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => show(store.shown, new Set(["size"])), PAUSE);
  });

  /** @param {Event} event */
  function skip(event) {
    event.preventDefault();
    main.focus();
  }

  /**
   * Show a view. If it was chosen by pointer, arrow keys move between heads from there.
   * @param {string} view @param {MouseEvent} event
   */
  function choose(view, event) {
    store.change({ view });
    if (event.detail) main.focus();
  }

  /** @param {KeyboardEvent} event */
  function moveTab(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const place = tabs.findIndex((tab) => tab === document.activeElement);
    if (!step || place < 0) return;
    const next = tabs[(place + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  }

  /** The view that is shown, created when it is first needed. @param {string} name @returns {Panel} */
  function panelOf(name) {
    const panel = panels.get(name) ?? /** @type {View} */ (views.find((view) => view.name === name)).create(context);
    panels.set(name, panel);
    return panel;
  }

  /** Draw what has changed. @param {Shown} now @param {Set<string>} changed */
  async function show(now, changed) {
    const otherTheme = now.theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = now.theme;
    theme.textContent = otherTheme === "light" ? "Light" : "Dark";
    theme.setAttribute("aria-label", `Switch to ${otherTheme} colours`);
    const panel = panelOf(now.view);
    if ([...changed].some((name) => !STAYING.has(name))) tip(null, null);
    page.dataset.view = now.view;
    page.classList.toggle("opened", now.card);
    if (changed.has("view")) {
      tabs.forEach((tab, place) => {
        const selected = views[place].name === now.view;
        tab.setAttribute("aria-selected", String(selected));
        tab.tabIndex = selected ? 0 : -1;
      });
      main.replaceChildren(panel.node);
      main.setAttribute("aria-labelledby", `tab-${now.view}`);
      main.scrollTop = 0;
    }
    card.update(now, changed);
    await panel.update(now, changed);
  }

  keepHistory(store);
  store.listen(show);
  show(store.shown, new Set(["view", "head", "theme"])).then(() => {
    performance.mark("first-view");
    document.documentElement.dataset.ready = "yes";
  });
}

/** @param {Store} store */
function switchTheme(store) {
  const theme = store.shown.theme === "dark" ? "light" : "dark";
  keepTheme(theme);
  store.change({ theme });
}

start();
