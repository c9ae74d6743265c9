/** The page: header, views of which one is seen, and the card of the chosen head. A new view is one more in VIEWS; the content says which it has. */

import { Atlas } from "./data/atlas.js";
import { createCard } from "./views/card.js";
import { Comparison } from "./data/comparison.js";
import { differencesView } from "./views/differences.js";
import { element } from "./dom.js";
import { gridView } from "./views/grid.js";
import { layersView } from "./views/layers.js";
import { liveView } from "./views/live.js";
import { mapView } from "./views/map.js";
import { strongest } from "./data/measures.js";
import { overviewView } from "./views/overview.js";
import { createPairCard } from "./views/pair-card.js";
import { createSearch } from "./views/search-box.js";
import { sentenceView } from "./views/sentence.js";
import { sidesView } from "./views/sides.js";
import { Store } from "./store.js";
import { tablesView } from "./views/tables.js";
import { currentTheme, keepTheme, palette, watchTheme } from "./theme.js";
import { attachTip } from "./tip.js";
import { weightsView } from "./views/weights.js";

const FIRST = ["positions/-1", "keyphrase_heads/mean/all/average_precision"]; // measures to begin with
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

async function start() {
  const content = JSON.parse(document.getElementById("content").textContent);
  const atlas = await (content.sides ? new Comparison(content) : new Atlas(content)).open();
  const views = content.views.map((name) => VIEWS.find((view) => view.name === name));
  const first = FIRST.map((id) => atlas.measureOf.get(id)).find(Boolean) ?? atlas.measures[0];
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
    special: true,
    measure: atlas.colour ?? first?.id ?? "",
    show: "values",
    table: "",
    among: "",
    scope: "",
    direction: "better",
    pinned: null,
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

function build(atlas, store, views) {
  const page = document.getElementById("page");
  const main = element("main", { id: "main", tabindex: -1 });
  const room = () => ({
    width: Math.max(420, main.clientWidth - 48),
    height: Math.max(420, window.innerHeight - main.offsetTop - 84),
  });
  const context = { atlas, store, room, palette: () => palette(store.shown.theme) };
  const card = atlas.sides ? createPairCard(context) : createCard(context);
  const made = new Map();
  const tabs = views.map(({ name, title }) =>
    element("button", {
      type: "button",
      role: "tab",
      id: `tab-${name}`,
      "aria-controls": "main",
      text: title,
      on: { click: () => store.change({ view: name }) },
    }),
  );
  const bar = element(
    "nav",
    { role: "tablist", "aria-label": "Views", class: "tabs", on: { keydown: (event) => moveTab(event, tabs) } },
    ...tabs,
  );
  const theme = element("button", { type: "button", class: "theme", on: { click: () => switchTheme(store) } });
  page.append(
    element("a", {
      class: "skip",
      href: "#main",
      text: "To the view",
      on: { click: (event) => (event.preventDefault(), main.focus()) },
    }),
    element(
      "header",
      {},
      element(
        "div",
        { class: "name" },
        element("h1", { text: atlas.content.name, title: atlas.content.name }),
        element("span", { text: "attention heads" }),
      ),
      bar,
      createSearch(context),
      theme,
    ),
    element("div", { class: "columns" }, main, card.node),
  );
  attachTip(page);
  watchTheme((now) => store.change({ theme: now }));
  window.addEventListener("hashchange", () => location.hash !== store.link() && store.follow(location.hash));
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => show(store.shown, new Set(["size"])), 80);
  });

  /** Draw what has changed. */
  async function show(now, changed) {
    document.documentElement.dataset.theme = now.theme;
    theme.textContent = now.theme === "dark" ? "Light" : "Dark";
    theme.setAttribute("aria-label", `Switch to ${now.theme === "dark" ? "light" : "dark"} colours`);
    if (changed.has("view")) {
      tabs.forEach((tab, place) => {
        const mine = views[place].name === now.view;
        tab.setAttribute("aria-selected", String(mine));
        tab.tabIndex = mine ? 0 : -1;
      });
      if (!made.has(now.view)) made.set(now.view, views.find(({ name }) => name === now.view).create(context));
      main.replaceChildren(made.get(now.view).node);
      main.setAttribute("aria-labelledby", `tab-${now.view}`);
      main.scrollTop = 0;
    }
    card.update(now, changed);
    await made.get(now.view).update(now, changed);
    const link = store.link();
    if (location.hash !== link && location.protocol !== "about:") history.replaceState(null, "", link);
  }
  store.listen(show);
  show(store.shown, new Set(["view", "head", "theme"])).then(() => {
    performance.mark("first-view");
    document.documentElement.dataset.ready = "yes";
  });
}

function switchTheme(store) {
  const theme = store.shown.theme === "dark" ? "light" : "dark";
  keepTheme(theme);
  store.change({ theme });
}

function moveTab(event, tabs) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const place = tabs.indexOf(document.activeElement);
  if (!step || place < 0) return;
  const next = tabs[(place + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
}

start();
