"""What the page opens with, in a real browser: wall, findings, a head at work; keys, history, narrow windows."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from headatlas.studies.resting import RESTING as RESTING_TABLE
from headatlas.views.page import write_page
from tests.views.synthetic_atlas import synthetic_atlas

HEADS = [4, 4, 3]
VIEWS = ["overview", "map", "grid", "sentence", "tables"]
LABELS = [
    (1, 1, "broad", 0.9, "0.9 of uniform", "state"),
    (1, 2, "previous token", 0.8, "80 % of its attention; uniform attention would put 1 % there", "label"),
    (1, 2, "det", 0.6, "right 60 %", "label"),
    (1, 3, "previous token", 0.7, "70 % of its attention", "label"),
    (1, 4, "[CLS]", 0.9, "90 % of its attention", "label"),
    (2, 1, "made up", 0.9, "by another package", "label"),
    (2, 2, "coreference", 0.7, "right 70 %", "label"),
]
RESTING = {(1, 2): 0.4, (1, 4): 0.9, (2, 3): 0.5}  # of all other heads 0.1


def make_atlas(folder, heads=HEADS):
    atlas = synthetic_atlas(folder, heads)
    columns = ["layer", "head", "label", "strength", "evidence", "kind"]
    atlas.tables["behaviours"] = pd.DataFrame(LABELS, columns=columns)
    kinds = atlas.tables["token_kinds"]
    resting = [RESTING.get(head, 0.1) for head in zip(kinds["layer"], kinds["head"], strict=True)]
    atlas.tables["token_kinds"] = kinds.assign(value=(0.4 * kinds["value"]).where(kinds["kind"] != "resting", resting))
    atlas.tables["positions"]["value"] *= 0.4  # so that nothing but what is made up here stands out
    atlas.tables["token_kinds_layers"] = pd.DataFrame(
        [(layer, "cls", value, value - 0.02, value + 0.02, 0.01) for layer, value in enumerate((0.2, 0.8, 0.6), 1)],
        columns=["layer", "kind", "value", "low", "high", "control"],
    )
    sure = {"accuracy": 0.72, "low": 0.66, "high": 0.78, "held_out": 0.7, "baseline": 0.3, "p_corrected": 0.001}
    unknown = dict.fromkeys(("tag_baseline", "control", "control_p"), np.nan)
    best = atlas.tables["dependency_best"].assign(**sure, **unknown, tag_rule="", with_special=0.5)
    best = best[best["relation"].isin(["all", "det"])]
    atlas.tables["dependency_best"] = best.assign(layer=1, head=2, direction="dependent_to_head")
    atlas.tables["dependencies"]["with_special"] = 0.4
    atlas.tables |= {"resting": pd.DataFrame(columns=RESTING_TABLE.names), "dependency_lengths": pd.DataFrame()}
    if sum(heads) > 100:
        del atlas.tables["head_distances"]
    return atlas


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return write_page(make_atlas(tmp_path_factory.mktemp("opening"))).as_uri()


def legend(one):
    """How many heads each row of the legend counts, by what it says."""
    rows = one.page.locator(".roles .role")
    return {row.get_attribute("data-role"): int(row.inner_text().split()[-1]) for row in rows.all()}


def bright(one):
    """The heads of the wall that are not faded."""
    opacities = "cells => cells.map((cell) => cell.getAttribute('opacity'))"
    cells = one.page.locator(".wall rect[data-head]").evaluate_all(opacities)
    return [head for head, opacity in enumerate(cells) if float(opacity) == 1]


def test_the_wall_shows_every_head_once_and_the_legend_counts_them(opened):
    one = opened("")
    assert one.page.locator(".wall rect[data-head]").count() == sum(HEADS)
    counts = legend(one)
    assert counts == {
        "relation": 1,  # of two labels, the rarer one
        "antecedent": 1,
        "previous token": 1,
        "other label": 1,
        "only rests": 2,
        "spreads evenly": 1,
        "no label": 4,
        "rests": 3,
        "at work": 8,
    }
    assert sum(counts.values()) - counts["rests"] - counts["at work"] == sum(HEADS)
    assert "over 30 % of its attention on [CLS] and [SEP]" in one.page.inner_text(".says")
    assert one.page.locator(".wall text", has_text="det").count() == 1
    assert one.page.locator(".wall text", has_text="?").count() == 4


def test_the_legend_singles_out_heads_and_the_link_keeps_them(opened):
    one = opened("")
    one.page.click("[data-role='previous token']")
    assert bright(one) == [2]
    one.page.click("[data-role='relation']")
    assert bright(one) == [1, 2]
    one.page.click("[data-role='rests']")
    assert bright(one) == [1]
    assert one.page.inner_text(".says").startswith("1 of 11 heads: previous token, relation, rests")
    assert one.page.get_attribute("[data-role='rests']", "aria-pressed") == "true"
    link = one.page.url.partition("#")[2]
    assert bright(opened("#" + link)) == [1]
    one.page.click("text=Show all")
    assert bright(one) == list(range(sum(HEADS)))


def test_one_tab_stop_arrow_keys_and_a_note_with_all_figures(opened):
    one = opened("#head=1-1")
    assert one.page.locator(".wall [tabindex='0']").count() == 1
    one.page.focus(".wall svg")
    one.page.keyboard.press("ArrowRight")
    assert one.head() == "Head 1-2"
    note = one.page.inner_text(".tip").replace("\xa0", " ")
    rests = "40 % of its attention rests on [CLS] and [SEP]"
    for figure in ("Head 1-2", "relation det", "1 more label", "right 60 %", rests):
        assert figure in note
    assert one.page.get_attribute("#wall-1", "aria-label").startswith("Head 1-2 finds")
    one.page.keyboard.press("Tab")
    assert one.page.locator(".tip").is_hidden()
    one.page.hover("#wall-3")
    assert "rests; no role found" in one.page.inner_text(".tip")


def test_it_opens_on_the_head_with_the_largest_lead_in_an_example_that_shows_it(opened):
    one = opened("")
    assert one.head() == "Head 1-2"
    assert one.page.inner_text(".work h2") == "A head at work: 1-2"
    assert "finds the other end of the relation det" in one.page.inner_text(".work .top")
    assert one.page.locator(".passage .unit").count() == 10
    assert one.page.locator(".work select").input_value() == "1"  # the first example with a tree


def test_findings_have_a_number_a_baseline_a_picture_and_a_link(opened):
    one = opened("#head=3-1")
    findings = one.page.locator(".finding")
    assert 3 <= findings.count() <= 5
    assert findings.first.locator(".eyebrow").inner_text() == "Most surprising"
    for finding in findings.all():
        assert finding.locator("b").count() == 1
        assert finding.locator("svg").count() == 1
        assert re.search("(?i)uniform|offset|untrained|corrected", finding.inner_text())
        assert finding.locator(".link").count() == 1
    one.page.click(".finding .link:text('Show head 1-2')")
    assert one.head() == "Head 1-2"
    one.page.click(".finding .link:text('Show them') >> nth=0")
    assert one.page.locator(".says", has_text="of 11 heads").count() == 1
    assert 0 < len(bright(one)) < sum(HEADS)
    one.page.click(".finding .link:text('Show the table') >> nth=0")
    one.page.wait_for_selector("#tab-tables[aria-selected=true]")


def test_all_findings_caveats_and_method_are_in_folds(opened):
    one = opened("")
    folds = one.page.locator("details.fold")
    assert folds.evaluate_all("folds => folds.some((fold) => fold.open)") is False
    said = {"findings": "offset", "caveats": "flatters|looks better", "How labels": "only rests", "Data": "Seed 7"}
    for title, text in said.items():
        one.page.click(f"summary:has-text('{title}')")
        assert re.search(text, one.page.inner_text(f"details.fold:has(summary:has-text('{title}'))"))


def test_the_sentence_follows_the_head_and_says_its_arrows_in_words(opened, tmp_path):
    one = opened("#head=1-3&example=1")
    example = make_atlas(tmp_path).examples[0]
    words = ["[CLS]", *example.words, "[SEP]"]
    merge = np.array([0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9])  # the second word has two tokens
    tokens = example.maps[0, 2]
    summed = np.stack([tokens[:, merge == word].sum(1) for word in range(10)], 1)
    weights = np.stack([summed[merge == word].mean(0) for word in range(10)])
    one.page.hover(".unit >> nth=4")
    inside = [word for word in range(1, 9) if weights[4, word] >= 0.03]
    strongest = max(inside, key=lambda word: weights[4, word])
    said = one.page.inner_text(".inwords")
    assert said.startswith(f"{words[4]} looks at: {words[strongest]} {100 * weights[4, strongest]:.0f} %")
    assert said.endswith(f"at rest {100 * (weights[4, 0] + weights[4, 9]):.0f} %")
    one.page.mouse.move(5, 5)
    assert one.page.inner_text(".inwords").startswith("Strongest pairs: ")
    assert "✓ previous token" in one.page.inner_text(".inwords")
    assert one.page.locator(".arcs path.fits").count() >= 2
    one.page.click(".wall rect[data-head='4']")
    expect(one.page.locator(".work h2")).to_have_text("A head at work: 2-1")
    one.page.focus(".unit")
    one.page.keyboard.press("ArrowRight")
    assert one.page.inner_text(".inwords").startswith("The looks at")
    assert one.head() == "Head 2-1"  # within the sentence, arrow keys move between words
    one.page.keyboard.press("Enter")
    one.page.keyboard.press("Escape")
    assert one.page.inner_text(".inwords").startswith("Strongest")


def test_the_card_opens_on_demand(opened):
    one = opened("#head=1-2")
    assert one.page.locator(".card").is_hidden()
    one.page.click("text=All about head 1-2")
    assert "80 % of its attention" in one.page.inner_text(".card")
    assert "Dot: this head" in one.page.inner_text(".card")
    one.page.click("text=Close the card")
    assert one.page.locator(".card").is_hidden()


def test_back_and_forward_move_between_what_was_seen(opened):
    one = opened("#head=1-1")
    one.page.click(".wall rect[data-head='5']")
    one.page.click("#tab-grid")
    one.page.click("text=Attention maps")
    one.page.wait_for_selector("main image")
    one.page.go_back()
    expect(one.page.locator("main image")).to_have_count(0)
    one.page.go_back()
    one.page.wait_for_selector("#tab-overview[aria-selected=true]")
    assert one.head() == "Head 2-2"
    one.page.go_back()
    expect(one.page.locator(".card h2")).to_have_text("Head 1-1")
    for _ in range(3):
        one.page.go_forward()
    one.page.wait_for_selector("main image")
    assert one.head() == "Head 2-2"


def test_heads_that_arrow_keys_pass_are_one_step_back(opened):
    one = opened("#view=sentence&head=1-1")
    for _ in range(3):
        one.page.keyboard.press("ArrowRight")
    expect(one.page.locator(".card h2")).to_have_text("Head 1-4")
    one.page.go_back()
    expect(one.page.locator(".card h2")).to_have_text("Head 1-1")


@pytest.mark.parametrize("view", VIEWS)
def test_arrow_keys_move_between_heads_in_every_view(opened, view):
    one = opened("#head=1-1")
    one.page.click(f"#tab-{view}")
    before = one.head()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):  # on a map, some way leads to another point
        one.page.keyboard.press(key)
        if one.head() != before:
            break
    assert one.head() != before
    assert one.page.get_attribute(f"#tab-{view}", "aria-selected") == "true"


def test_a_list_of_keys(opened):
    one = opened("")
    one.page.keyboard.press("?")
    assert "Back, Forward" in one.page.inner_text("dialog.keys")
    one.page.keyboard.press("Escape")
    assert one.page.locator("dialog.keys").is_hidden()
    one.page.fill("#search", "")
    one.page.focus("#search")
    one.page.keyboard.type("?")
    assert one.page.locator("dialog.keys").is_hidden()


def test_notes_vanish_when_the_view_or_the_measure_changes(opened):
    one = opened("#view=grid&head=1-1")
    one.page.hover("main rect[data-head='3']")
    assert one.page.locator(".tip").is_visible()
    one.page.keyboard.press("/")
    one.page.keyboard.type("det")
    one.page.keyboard.press("Enter")
    assert one.page.locator(".tip").is_hidden()
    one.page.hover("main rect[data-head='3']")
    one.page.evaluate("location.hash = '#view=tables'")
    one.page.wait_for_selector("#tab-tables[aria-selected=true]")
    assert one.page.locator(".tip").is_hidden()


def test_a_search_that_the_box_suggests_finds_something(opened):
    one = opened("")
    for words in one.page.get_attribute("#search", "placeholder").removeprefix("Search: ").rstrip("…").split(", "):
        one.page.fill("#search", words)
        assert one.page.locator("#found [role=option]").count() >= 1


def test_the_map_names_only_the_colours_it_uses(opened):
    one = opened("#view=map")
    colours = "dots => dots.map((dot) => dot.getAttribute('fill'))"
    fills = one.page.locator("main circle[data-head]").evaluate_all(colours)
    legends = one.page.locator("main circle:not([data-head])").evaluate_all(colours)
    assert set(legends) - {"none"} == set(fills)
    outlines = "dots => dots.map((dot) => getComputedStyle(dot).stroke)"
    (outline,) = {*one.page.locator("main circle[data-head]").evaluate_all(outlines)}
    assert {*one.page.locator("main circle:not([data-head]):not([fill=none])").evaluate_all(outlines)} == {outline}
    assert "relation" in one.page.text_content("main svg")


def test_a_map_of_the_grid_opens_large_and_the_grid_zooms(opened):
    one = opened("#view=grid&show=maps&example=2&head=1-1")
    one.page.wait_for_selector("main image")
    cell = one.page.locator("main rect[data-head='0']")
    before = cell.bounding_box()["width"]
    one.page.dblclick("main rect[data-head='5']")
    expect(one.page.locator("dialog.large h2")).to_have_text("Head 2-2 on example 2")
    assert one.page.locator("dialog.large svg").bounding_box()["width"] > 300
    one.page.keyboard.press("ArrowLeft")
    expect(one.page.locator("dialog.large h2")).to_have_text("Head 2-1 on example 2")
    one.page.keyboard.press("Escape")
    one.page.click("[aria-label='Zoom in']")
    expect(one.page.locator("main .stage.zoomed")).to_have_count(1)
    assert cell.bounding_box()["width"] > 1.3 * before
    one.page.click("[aria-label='Show the whole picture']")
    expect(one.page.locator("main .stage.zoomed")).to_have_count(0)


def test_files_are_named_after_model_and_table(opened):
    one = opened("#view=tables&table=dependencies")
    assert one.page.locator("main select option", has_text="dependency best").count() == 1
    assert "dependent to head" in one.page.inner_text(".table-body")
    for table, name in (("dependencies", "made-up-dependencies.csv"), ("paper-1", r"made-up-[a-z0-9-]+\.csv")):
        one = opened(f"#view=tables&table={table}")
        with one.page.expect_download() as waiting:
            one.page.click("main button:text('CSV')")
        assert re.fullmatch(name, waiting.value.suggested_filename)
        assert "paper-1" not in waiting.value.suggested_filename


def test_narrow_windows_do_not_scroll_sideways_and_cut_nothing(opened):
    one = opened("")
    for width in (360, 390):
        one.page.set_viewport_size({"width": width, "height": 800})
        for view in VIEWS:
            opened(f"#view={view}&example=2")
            parts = one.page.locator("html, main, header, .stage, .panel, .tabs")
            wide = parts.evaluate_all("nodes => nodes.filter((node) => node.scrollWidth > node.clientWidth + 1).length")
            assert wide == 0
    one.page.set_viewport_size({"width": 1280, "height": 800})


def test_a_notebook_has_room_for_one_row_of_controls_and_a_matrix_beside_the_lines(opened):
    one = opened("#view=sentence&example=1")
    for width in (940, 1024, 1280):
        one.page.set_viewport_size({"width": width, "height": 550})
        parts = one.page.locator("header > *").evaluate_all(
            "parts => parts.map((part) => part.getBoundingClientRect())"
        )
        middles = [part["top"] + part["height"] / 2 for part in parts]
        assert max(middles) - min(middles) < 6
    one.page.set_viewport_size({"width": 940, "height": 550})
    tops = "pictures => pictures.map((picture) => picture.getBoundingClientRect().top)"
    expect(one.page.locator(".pair svg")).to_have_count(2)
    lines, matrix = one.page.locator(".pair svg").evaluate_all(tops)
    assert lines == matrix
    one.page.set_viewport_size({"width": 1280, "height": 800})


def test_a_causal_model_has_no_chart_of_the_next_token_and_rests_on_the_first(opened, tmp_path):
    atlas = make_atlas(tmp_path)
    positions, kinds = atlas.tables["positions"], atlas.tables["token_kinds"]
    ahead = positions["offset"] == 1
    atlas.tables["positions"] = positions.assign(
        value=positions["value"].mask(ahead, 0.0), expected=positions["expected"].mask(ahead, 0.0)
    )
    first = kinds[kinds["kind"] == "resting"].assign(kind="first")
    others = kinds.assign(value=kinds["value"].mask(kinds["kind"].isin(["cls", "sep", "sep_to_sep", "other_to_sep"])))
    atlas.tables["token_kinds"] = pd.concat([others, first])
    text = atlas.examples[0]
    words = {"words": tuple(text.tokens), "word_of": list(range(len(text.tokens)))}
    atlas.examples[:] = [dataclasses.replace(text, **words)]
    one = opened("#head=1-2&example=1", write_page(atlas).as_uri())
    assert "on the first token" in one.page.inner_text(".says")
    rests = round(100 * float(text.maps[0][1, 1, 0]))
    second = one.page.locator(".flow .unit").nth(1).get_attribute("aria-label")
    assert re.search(rf": {rests} % of its attention rests$", second)
    one.page.click("summary:text('Through the layers')")
    charts = one.page.locator("main .stage text.title")
    expect(charts.first).to_be_visible()
    titles = charts.all_text_contents()
    assert "to the first token" in titles
    assert "to the next token" not in titles
    one.page.click("summary:has-text('findings')")
    assert "next token" not in one.page.inner_text("details.fold:has(summary:has-text('findings'))")


def test_the_wall_fits_with_many_heads(opened, tmp_path):
    atlas = make_atlas(tmp_path, [32] * 32)
    del atlas.examples[2:]
    one = opened("#head=2-2", write_page(atlas).as_uri())
    wall, panel = one.page.locator(".wall svg").bounding_box(), one.page.locator(".model").bounding_box()
    assert wall["x"] + wall["width"] <= panel["x"] + panel["width"] + 1
    assert one.page.locator(".wall rect[data-head]").count() == 1024
    assert one.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
