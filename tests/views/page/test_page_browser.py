"""The page in a real browser, opened as a file: views, links, search, downloads, keyboard, colours, hostile text."""

import csv
import io
import re
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import expect

from headatlas.results.tables import TABLES, Made
from headatlas.tables import ONE_HEAD, Key, Table, Value
from headatlas.views.page import write_page
from tests.views.chromium import Tab
from tests.views.synthetic_atlas import synthetic_atlas

VIEWS = ["overview", "map", "grid", "sentence", "tables"]
HOSTILE = '"><script>window.hurt=1</script><img src=x onerror="window.hurt=1">'
LAYERS = "summary:text('Through the layers')"
WORDS = [HOSTILE, "שלום", "مرحبا", "👩‍👩‍👧", "x" * 300, "a\u202eb", "</script>", "\u2028"]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return write_page(synthetic_atlas(tmp_path_factory.mktemp("atlas"), [3, 4, 2])).as_uri()


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_follows_its_link_and_shows_the_head(opened, view):
    one = opened(f"#head=2-3&view={view}&example=2")
    assert one.head() == "Head 2-3"
    assert one.page.get_attribute(f"#tab-{view}", "aria-selected") == "true"
    assert f"view={view}" in one.page.url
    assert "head=2-3" in one.page.url
    shown = {
        "overview": "rect[data-head]",
        "map": "circle[data-head]",
        "grid": "rect[data-head]",
        "sentence": "main path",
        "tables": "main td",
    }
    assert one.page.locator(f"main {shown[view].removeprefix('main ')}").count() >= 9


def test_a_head_chosen_in_one_view_is_chosen_in_all(opened):
    one = opened("#view=grid&head=1-1")
    one.page.click("main rect[data-head='5']")
    assert one.head() == "Head 2-3"
    one.page.click("#tab-map")
    assert one.page.text_content("main .chosen text") == "2-3"
    one.page.click("main circle[data-head='1']")
    assert one.head() == "Head 1-2"
    one.page.click("#tab-sentence")
    one.page.wait_for_selector("main path")
    assert one.page.inner_text(".verdict").startswith("Head 1-2")
    assert one.page.get_attribute(".locator svg", "aria-activedescendant") == "locator-1"
    assert "head=1-2" in one.page.url


def test_a_table_says_itself_how_it_is_shown(opened, tmp_path, monkeypatch):
    """Its label in lists, its unit, its heading on the card, its panel in the overview; hostile words stay words."""
    kind = Key("kind", "where it sinks", labels={"first": f"the first {{cls}} {HOSTILE}"})
    columns = (*ONE_HEAD, kind, Value("value", "how much", "share"))
    words = {"label": "attention that sinks into {kind}", "short": "{kind}", "card": "Sinks", "panels": ("first",)}
    monkeypatch.setitem(TABLES.made, "sinks", Made(Table("sinks", "Where does it sink?", columns, **words), "survey"))
    atlas = synthetic_atlas(tmp_path, [3, 4, 2])
    every = [(layer, head) for layer, number in enumerate([3, 4, 2], 1) for head in range(1, number + 1)]
    atlas.tables["sinks"] = pd.DataFrame(every, columns=["layer", "head"]).assign(kind="first", value=0.25)
    one = opened("#head=2-3&view=grid&measure=sinks/first", write_page(atlas).as_uri())
    label = f"attention that sinks into the first [CLS] {HOSTILE}"
    assert label in one.page.locator("main select option").all_text_contents()
    assert one.page.text_content(".locator .caption") == label
    card = one.page.text_content(".card")
    assert f"Sinksthe first [CLS] {HOSTILE}25.0 %" in card
    one = opened("#view=overview", write_page(atlas).as_uri())
    one.page.click(LAYERS)
    expect(one.page.locator("main .stage svg text", has_text="sinks into").first).to_be_visible()
    assert one.page.evaluate("window.hurt") is None


def test_following_another_link_changes_what_is_shown(opened):
    one = opened("#view=grid&head=1-1")
    one.page.evaluate("location.hash = '#head=3-2&view=sentence&example=3'")
    one.page.wait_for_selector("#tab-sentence[aria-selected=true]")
    assert one.head() == "Head 3-2"
    assert one.page.locator("main select").first.input_value() == "2"
    one.page.evaluate("""() => new Promise((heard) => {
        addEventListener("hashchange", () => setTimeout(heard));
        location.hash = "#head=77-1&view=none&example=x&table=constructor";
    })""")
    assert one.head() == "Head 3-2"


def test_the_card_says_what_the_tables_say(opened):
    one = opened("#view=map&head=1-1")
    card = one.page.inner_text(".card")
    assert "broad" in card
    assert "0.9 of uniform" in card
    assert "Most similar heads" in card
    assert "importance" in card  # a table that the page has never heard of
    one.page.click(".chips .chip")
    assert one.head() != "Head 1-1"


def test_lines_are_the_weights_of_the_chosen_head(opened, tmp_path):
    example = synthetic_atlas(tmp_path, [3, 4, 2]).examples[0]
    weights = example.maps[1, 2]
    one = opened("#head=2-3&view=sentence&example=1&unit=tokens")
    darkest = max(0.05, weights.max())
    expected = (weights / darkest >= 0.02).sum()
    assert abs(one.page.locator("main path[stroke-opacity]").count() - expected) <= 2  # rounding at the threshold
    one.page.hover("main [data-side=from][data-place='4']")
    strongest = weights[4].argmax()
    said = one.page.inner_text(".verdict")
    assert said.startswith(
        f"“{example.tokens[4]}” attends to {example.tokens[strongest]} {100 * weights[4].max():.0f} %"
    )
    one.page.hover("main [data-side=to][data-place='4']")
    assert "is attended to by" in one.page.inner_text(".verdict")


def test_words_tokens_and_the_sink(opened):
    one = opened("#view=sentence&example=1")
    rows = one.page.locator("main [data-side=from]")
    expect(rows).to_have_count(10)
    one.page.click("text=Tokens")
    expect(rows).to_have_count(11)
    one.page.check("text=without the sink")
    expect(rows).to_have_count(9)
    assert "unit=tokens" in one.page.url


def test_gold_trees_and_mentions_are_marked_right_or_wrong(opened):
    one = opened("#view=sentence&example=2")
    marks = one.page.locator("main svg text").all_text_contents()
    assert marks.count("✓") + marks.count("\N{MULTIPLICATION SIGN}") == 7  # the root has no head
    assert "dobj" in marks
    right = one.page.inner_text(".verdict strong")
    assert right == f"{marks.count('✓')} of 7"
    one.page.select_option("main label:has-text('Scored') select", "head_to_dependent")
    one.page.locator(".verdict", has_text="head → dependent").wait_for()
    one.page.click("[aria-label='Next example']")
    one.page.locator(".verdict", has_text="antecedent").wait_for()
    assert one.page.inner_text(".verdict strong").endswith("of 1")


def test_a_word_is_pinned_by_click_and_by_keys(opened):
    one = opened("#view=sentence&example=1")
    one.page.click("main [data-side=from][data-place='2']")
    one.page.mouse.move(5, 5)
    assert one.page.inner_text(".verdict").startswith("“old”")
    one.page.focus("main svg[tabindex]")
    one.page.keyboard.press("ArrowDown")
    assert one.page.inner_text(".verdict").startswith("“man” attends to")
    one.page.keyboard.press("ArrowRight")
    assert one.page.inner_text(".verdict").startswith("“man” is attended to by")
    one.page.keyboard.press("Escape")
    assert one.page.inner_text(".verdict").startswith("Head")


@pytest.mark.parametrize(
    ("query", "head", "view"),
    [("2-3", "Head 2-3", "overview"), ("previous token", None, "map"), ("dobj", None, "grid")],
)
def test_search(opened, query, head, view):
    one = opened("")
    one.page.keyboard.press("/")
    one.page.keyboard.type(query)
    assert one.page.locator("#found [role=option]").count() >= 1
    one.page.keyboard.press("Enter")
    one.page.wait_for_selector(f"#tab-{view}[aria-selected=true]")
    assert head is None or one.head() == head
    assert one.page.locator("#found").is_hidden()


def test_search_by_pointer_and_for_nothing(opened):
    one = opened("")
    one.page.fill("#search", "zzzz")
    assert one.page.inner_text("#found") == "Nothing found"
    one.page.fill("#search", "little")
    one.page.click("#found li >> nth=0")
    one.page.wait_for_selector("#tab-sentence[aria-selected=true]")


def test_keys_alone_reach_views_heads_and_search(opened):
    one = opened("#head=1-1&view=overview")
    one.page.keyboard.press("Tab")
    assert one.page.evaluate("document.activeElement.className") == "skip"
    one.page.keyboard.press("Tab")
    one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("ArrowRight")
    one.page.wait_for_selector("#tab-grid[aria-selected=true]")
    one.page.focus("main svg[role=grid]")
    assert one.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    one.page.keyboard.press("ArrowDown")
    one.page.keyboard.press("ArrowRight")
    assert one.head() == "Head 2-2"
    assert one.page.get_attribute("#grid-4", "aria-selected") == "true"
    assert one.page.get_attribute("#grid-4", "aria-label").startswith("Head 2-2")
    one.page.keyboard.press("End")
    assert one.head() == "Head 2-4"
    one.page.keyboard.press("ArrowDown")
    assert one.head() == "Head 2-4"


def test_everything_that_can_be_pressed_has_a_name(opened):
    for view in VIEWS:
        one = opened(f"#view={view}")
        assert one.nameless() == []


@pytest.mark.parametrize("view", ["overview", "map", "grid", "sentence"])
def test_pictures_are_saved_as_svg_and_png(opened, view):
    one = opened(f"#head=1-2&view={view}&example=1")
    for form, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with one.page.expect_download() as waiting:
            one.page.click(f"main .savers button:text('{form}') >> nth=0")
        download = waiting.value
        content = Path(download.path()).read_bytes()
        assert download.suggested_filename.endswith(form.lower())
        assert content.startswith(start)
        assert len(content) > 1000


def test_tables_are_sorted_filtered_and_saved(opened, tmp_path):
    frame = synthetic_atlas(tmp_path, [3, 4, 2]).tables["dependencies"]
    one = opened("#view=tables&table=dependencies&head=1-2")
    assert f"{len(frame):,} rows" in one.page.inner_text("main")
    one.page.click("main th button:text('accuracy')")
    first = one.page.locator("main tbody tr:not([aria-hidden])").first.locator("td").all_inner_texts()
    assert float(first[6]) == pytest.approx(frame["accuracy"].max(), abs=1e-4)
    one.page.fill("main input[type=search]", "dobj head_to")
    assert one.page.inner_text("main .remark span") == "9 rows."
    one.page.check("text=only the chosen head")
    assert one.page.inner_text("main .remark span") == "1 row."
    with one.page.expect_download() as waiting:
        one.page.click("main button:text('CSV')")
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8"))))
    truth = frame.query("relation == 'dobj' and direction == 'head_to_dependent' and layer == 1 and head == 2")
    assert len(rows) == 1
    assert float(rows[0]["accuracy"]) == pytest.approx(truth["accuracy"].item(), rel=1e-4)


def test_a_long_table_draws_only_what_is_seen(opened, tmp_path):
    atlas = synthetic_atlas(tmp_path, [30])
    one = opened("#view=tables&table=dependencies", write_page(atlas).as_uri())
    assert one.page.locator("main tbody tr").count() < 80
    one.page.evaluate("document.querySelector('.table-body').scrollTop = 1e6")
    expect(one.page.locator("main tbody tr:not([aria-hidden])").last).to_have_text(re.compile(r"^nsubj\s*1\s*30"))


@pytest.mark.parametrize("table", ["", "nowhere", "constructor", "__proto__", "paper-9"])
def test_the_paper_stands_beside_and_is_shown_for_an_unknown_table(opened, table):
    one = opened(f"#view=tables&table={table}")
    text = one.page.inner_text("main")
    assert "published" in text
    assert "dobj" in text


def test_dark_and_light(browser, address):
    one = Tab(browser, color_scheme="dark").go(address + "#view=grid")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert one.page.evaluate(ground) == "rgb(13, 18, 25)"
    one.page.click(".theme")
    assert one.page.evaluate(ground) == "rgb(245, 247, 250)"
    one.page.reload()
    one.page.wait_for_selector("html[data-ready]")
    assert one.page.evaluate(ground) == "rgb(245, 247, 250)"
    one.check()
    one.page.close()


def test_a_heat_map_of_any_measure(opened):
    one = opened("#view=grid&measure=importance")
    fills = one.page.eval_on_selector_all(
        "main rect[data-head]", "cells => cells.map(cell => cell.getAttribute('fill'))"
    )
    assert len(set(fills)) > 3
    one.page.select_option("main label:has-text('Value') select", "entropy/all")
    assert "entropy" in one.page.text_content("main svg")
    one.page.click("text=Attention maps")
    one.page.wait_for_selector("main image")
    assert one.page.locator("main image").count() == 9


def test_hostile_text_is_shown_as_text(opened, tmp_path):
    atlas = synthetic_atlas(tmp_path, [2, 2], words=WORDS, name=HOSTILE, **{"class": HOSTILE})
    atlas.tables["behaviours"].loc[0, ["label", "evidence"]] = HOSTILE
    atlas.tables["dependencies"]["relation"] = atlas.tables["dependencies"]["relation"].replace("dobj", HOSTILE)
    atlas.tables["dependency_best"]["relation"] = atlas.tables["dependency_best"]["relation"].replace("dobj", HOSTILE)
    address = write_page(atlas).as_uri()
    for view in VIEWS:
        one = opened(f"#view={view}&head=1-1&table=dependencies", address)
        assert HOSTILE in one.page.inner_text("body")
        assert one.page.locator("img, iframe, object").count() == 0
        assert one.page.evaluate("window.hurt") is None
        assert one.page.evaluate("document.scripts.length") == 2
        assert one.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    one = opened("#view=sentence&example=1", address)
    titles = one.page.locator("main title").all_text_contents()
    assert titles[1] == HOSTILE
    assert "שלום" in titles
    one.page.fill("#search", "script")
    assert one.page.evaluate("window.hurt") is None


def test_an_empty_atlas_says_what_to_run(opened, tmp_path):
    atlas = synthetic_atlas(tmp_path, [2, 2], examples=0)
    atlas.tables.clear()
    address = write_page(atlas).as_uri()
    said = {"map": "no map of similar heads", "sentence": "--examples", "tables": "no tables"}
    for view in VIEWS:
        assert said.get(view, "") in opened(f"#view={view}", address).page.inner_text("main")


def test_nothing_from_outside_may_run(opened):
    one = opened("")
    one.page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.hurt = 1";
        document.body.append(script);
    }""")
    assert one.page.evaluate("window.hurt") is None
    assert any("Content Security Policy" in problem for problem in one.problems)
    one.problems.clear()


def test_the_numbers_of_a_link_are_those_of_the_atlas(opened, tmp_path):
    atlas = synthetic_atlas(tmp_path, [3, 4, 2])
    value = atlas.tables["positions"].set_index(["offset", "layer", "head"])["value"][-1, 2, 3]
    assert f"{100 * value:.1f} %" in opened("#view=grid&head=2-3").page.inner_text(".card")


OVERLAPS = """() => {
    const picture = document.querySelector("main .stage svg");
    const { left, right } = picture.getBoundingClientRect();
    const panels = [...picture.querySelectorAll(":scope > g")];
    const boxes = (panel, kind) => [...panel.querySelectorAll(kind)].map((node) => node.getBoundingClientRect());
    const found = [];
    panels.forEach((panel, place) => {
        const ticks = boxes(panel, "text.layer");
        ticks.forEach((box, at) => at && box.left < ticks[at - 1].right + 2 && found.push("layers run together"));
        const [title] = boxes(panel, "text.title");
        const [next] = panels[place + 1] ? boxes(panels[place + 1], "text.title") : [];
        const beside = next && Math.abs(next.bottom - title.bottom) < 8;
        if (beside && title.right > next.left) found.push("a title runs into the next");
        for (const box of boxes(panel, "text")) if (box.right > right + 1 || box.left < left - 1) found.push("cut");
    });
    return [panels.length, found, panels.map((panel) => panel.querySelector("text.title").textContent)];
}"""


@pytest.mark.parametrize("layers", [1, 24, 96])
def test_labels_of_the_overview_are_apart_and_whole_at_any_depth(browser, tmp_path, layers):
    address = write_page(synthetic_atlas(tmp_path, [2] * layers, examples=1)).as_uri()
    one = Tab(browser)
    for width in (390, 1280, 1900):
        one.page.set_viewport_size({"width": width, "height": 900})
        one.go(address).page.click(LAYERS)
        one.page.wait_for_selector("main .stage svg")
        number, found, titles = one.page.evaluate(OVERLAPS)
        assert number >= 6
        assert found == []
        assert "|dL/da| towards other tokens" in titles
    one.check()
    one.page.close()
