"""The page of a comparison in a real browser: linked heads, links, search, differences, keys, dark, hostile text."""

import csv
import io
import time
from pathlib import Path

import pytest

from headatlas.views.page import write_page
from patience import SECONDS
from tests.views.chromium import Tab
from tests.views.synthetic_comparison import synthetic_comparison

VIEWS = ["overview", "sides", "differences", "tables"]
# without a slash, at which the name of a model would be cut
HOSTILE = '"><script>window.hurt=1;<script><img src=x onerror="window.hurt=1">'
LABELS = [[(1, 1, "broad", 0.9), (2, 1, "dobj", 0.6)], [(1, 2, "broad", 0.8)]]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return synthetic_comparison(tmp_path_factory.mktemp("comparison"), [3, 4], [3, 4], labels=LABELS)


@pytest.fixture(scope="module")
def address(made):
    return write_page(made).as_uri()


def match_of(made, layer, head, end="a"):
    other = "b" if end == "a" else "a"
    table = made.tables["head_matches"]
    row = table[(table[f"layer_{end}"] == layer) & (table[f"head_{end}"] == head)].iloc[0]
    return f"{row[f'layer_{other}']}-{row[f'head_{other}']}", row["distance"]


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_follows_its_link_and_shows_the_pair(opened, made, view):
    one = opened(f"#head=2-3&view={view}")
    match, distance = match_of(made, 2, 3)
    assert one.head() == f"A 2-3 ↔ B {match}"
    assert f"{distance:.3f} nats" in one.page.inner_text(".card")
    assert one.page.get_attribute(f"#tab-{view}", "aria-selected") == "true"
    assert "head=2-3" in one.page.url


@pytest.mark.parametrize("form", ["Maps", "Grids"])
def test_a_head_chosen_on_either_side_shows_its_match(opened, made, form):
    one = opened("#view=sides&head=1-1")
    one.page.click(f"main button:text('{form}')")
    one.page.locator("main svg svg").nth(1).locator("[data-head='4']").click()
    match, distance = match_of(made, 2, 2, "b")
    assert one.head() == f"A {match} ↔ B 2-2"
    assert "other=2-2" in one.page.url
    assert f"A {match} ↔ B 2-2: {distance:.3f} nats apart" in one.page.inner_text(".verdict")
    assert one.page.get_attribute(".link-line", "d").startswith("M")
    one.page.locator("main svg svg").nth(0).locator("[data-head='1']").click()
    assert one.head() == f"A 1-2 ↔ B {match_of(made, 1, 2)[0]}"


def test_a_glance_shows_the_match_and_leaves_the_choice(opened, made):
    one = opened("#view=sides&head=2-1")
    before = one.page.get_attribute(".link-line", "d")
    one.page.locator("main svg svg").nth(0).locator("[data-head='2']").hover()
    assert one.page.inner_text(".verdict").startswith(f"A 1-3 ↔ B {match_of(made, 1, 3)[0]}")
    assert one.page.get_attribute(".link-line", "d") != before
    assert one.head().startswith("A 2-1")
    one.page.mouse.move(5, 5)
    assert one.page.get_attribute(".link-line", "d") == before
    assert one.page.inner_text(".verdict").startswith("A 2-1")


def test_shared_and_own_labels_are_told_apart(opened, made):
    one = opened("#view=sides&head=1-1")
    card = one.page.inner_text(".card")
    match = match_of(made, 1, 1)[0]
    assert ("both" if match == "1-2" else "A alone") in card
    assert "broad" in card


def test_keys_move_within_each_side(opened):
    one = opened("#view=sides&head=1-1")
    one.page.click("main button:text('Grids')")
    one.page.locator("main svg svg").nth(0).focus()
    one.page.keyboard.press("ArrowRight")
    assert one.head().startswith("A 1-2 ")
    one.page.locator("main svg svg").nth(1).focus()
    one.page.keyboard.press("End")
    one.page.keyboard.press("Home")
    assert one.head().endswith("-1")
    assert "other=" in one.page.url


def test_the_colour_is_kept_in_the_link(opened):
    one = opened("#view=sides&measure=match/distance")
    assert one.page.locator("main label:has-text('Colour') select").input_value() == "match/distance"
    one.page.select_option("main label:has-text('Colour') select", "positions/-1")
    assert "measure=positions%2F-1" in one.page.url
    assert "attention to the previous token" in one.page.text_content("main svg")
    assert opened("#view=sides&measure=nowhere").page.locator("main circle[data-head]").count() == 14


def test_differences_stand_with_their_intervals_and_choose_their_heads(opened, made):
    one = opened("#view=differences&among=positions/value&scope=head")
    table = made.tables["differences"].query("table == 'positions' and scope == 'head'")
    assert f"of {len(table)} intervals exclude 0" in one.page.inner_text("main .remark")
    one.page.click("text=Largest")
    rows = one.page.locator("main [role=option]")
    assert rows.count() == len(table)
    top = table.loc[table["difference"].abs().idxmax()]
    assert rows.first.text_content().startswith(f"{top['layer_a']}-{top['head_a']} ")
    assert f"{100 * top['difference']:+.1f}" in rows.first.text_content()
    rows.first.click()
    assert one.head() == f"A {top['layer_a']}-{top['head_a']} ↔ B {top['layer_b']}-{top['head_b']}"
    one.page.focus("main [role=listbox]")
    one.page.keyboard.press("ArrowDown")
    assert rows.nth(1).get_attribute("aria-selected") == "true"
    one.page.check("text=only intervals without 0")
    clear = ((table["low"] > 0) | (table["high"] < 0)).sum()
    assert rows.count() == clear
    with one.page.expect_download() as waiting:
        one.page.click("main button:text('CSV')")
    saved = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8"))))
    assert len(saved) == clear
    assert float(saved[0]["difference"]) == pytest.approx(top["difference"], rel=1e-4)


@pytest.mark.parametrize(
    "link", ["&among=nowhere/x", "&among=__proto__&scope=constructor", "&among=entropy/nats&scope=x"]
)
def test_an_unknown_table_of_differences_shows_another(opened, link):
    assert opened(f"#view=differences{link}").page.locator("main [role=option]").count() > 0


@pytest.mark.parametrize("view", ["overview", "sides", "differences"])
def test_pictures_are_saved(opened, view):
    one = opened(f"#view={view}")
    for form, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with one.page.expect_download() as waiting:
            one.page.click(f"main .savers button:text('{form}') >> nth=0")
        assert Path(waiting.value.path()).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("query", "head"), [("b 2-4", "B 2-4"), ("A 2-4", "A 2-4"), ("head 1-3", "A 1-3"), ("broad", "A 1-1")]
)
def test_search(opened, query, head):
    one = opened("#head=1-2&view=sides")
    one.page.keyboard.press("/")
    one.page.keyboard.type(query)
    one.page.keyboard.press("Enter")
    assert head in one.head()


def test_tables_choose_heads_of_their_side(opened, made):
    one = opened("#view=tables&table=head_matches&head=1-1")
    row = one.page.locator("main tbody tr:not([aria-hidden])").nth(4)
    row.locator("button").nth(1).click()  # head_b
    layer, head = made.tables["head_matches"].iloc[4][["layer_b", "head_b"]]
    assert one.head() == f"A 2-2 ↔ B {layer}-{head}"
    assert "chosen" in row.get_attribute("class")
    one.page.check("text=only the chosen head")
    assert one.page.locator("main tbody tr.chosen").count() >= 1


def test_everything_that_can_be_pressed_has_a_name(opened):
    for view in VIEWS:
        assert opened(f"#view={view}").nameless() == []


def test_dark_and_narrow(browser, address):
    one = Tab(browser, color_scheme="dark").go(address + "#view=sides")
    assert one.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 18, 25)"
    one.page.set_viewport_size({"width": 480, "height": 800})
    below = """() => {
        const [first, second] = document.querySelectorAll("main svg svg");  // below each other where there is no room
        return second.getBoundingClientRect().top >= first.getBoundingClientRect().bottom;
    }"""
    end = time.monotonic() + SECONDS
    while not one.page.evaluate(below):
        assert time.monotonic() < end
    one.check()
    one.page.close()


@pytest.mark.parametrize("matched", [True, False])
def test_models_of_other_shapes(opened, tmp_path, matched):
    made = synthetic_comparison(tmp_path, [2, 2], [3, 3, 3], matched=matched, labels=LABELS)
    address = write_page(made).as_uri()
    for view in VIEWS:
        opened(f"#view={view}", address)
    one = opened("#view=sides&head=1-1", address)
    one.page.locator("main svg svg").nth(1).locator("[data-head]").nth(8).click()
    assert one.head().endswith("B 3-3")


def test_a_head_that_is_left_over_has_no_match(opened, tmp_path):
    made = synthetic_comparison(tmp_path, [2, 2], [3, 3, 3])
    left = made.tables["head_matches"].query("layer_a.isna()").iloc[0]
    one = opened(f"#view=sides&other={left['layer_b']}-{left['head_b']}", write_page(made).as_uri())
    assert one.head() == f"no head of A ↔ B {left['layer_b']}-{left['head_b']}"
    assert "No head of the other model is left to match it" in one.page.inner_text(".card")
    assert one.page.get_attribute(".link-line", "d") == ""
    for view in VIEWS:
        one.page.click(f"#tab-{view}")


def test_hostile_text_is_shown_as_text(opened, tmp_path):
    labels = [[(1, 1, HOSTILE, 0.9)], [(1, 2, HOSTILE, 0.8)]]
    made = synthetic_comparison(tmp_path, [2, 2], [2, 2], names=(HOSTILE, "שלום\u202e" + "x" * 300), labels=labels)
    made.tables["differences"]["measure"] = made.tables["differences"]["measure"].str.replace("det", HOSTILE)
    made.manifest["not_compared"] = {HOSTILE: HOSTILE}
    address = write_page(made).as_uri()
    for view in VIEWS:
        one = opened(f"#view={view}&head=1-1&table=differences", address)
        assert HOSTILE in one.page.inner_text("body")
        assert one.page.locator("img, iframe, object").count() == 0
        assert one.page.evaluate("window.hurt") is None
        assert one.page.evaluate("document.scripts.length") == 2
        assert one.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    one.page.fill("#search", "script")
    assert one.page.evaluate("window.hurt") is None


def test_a_comparison_without_sides_still_has_its_tables(opened, tmp_path):
    made = synthetic_comparison(tmp_path, [2, 2], [2, 2])
    made.sides = ({}, {})
    address = write_page(made).as_uri()
    for view in VIEWS:
        opened(f"#view={view}", address)
    assert opened("#view=sides", address).page.locator("main rect[data-head]").count() == 8
