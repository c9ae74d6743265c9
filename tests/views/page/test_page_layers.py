"""The page's view of layers in a real browser, and the logic of its scripts."""

import pytest

from headatlas.engine.run_folder import write_manifest
from headatlas.results.folder import Results, write_tables
from headatlas.views.page import write_page
from tests.views.chromium import new_page
from tests.views.synthetic_layers import layer_tables

HOSTILE = '[1 "><script>window.hurt=1</script>] \u202eb [2 <img src=x onerror="window.hurt=1">]'
LAYERS = 4


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layers")
    model = {"name": "m", "class": "BertModel", "heads": [2, 2, 2], "layers": 3}
    about = {"kind": "spans", "files": [{"file": "a.conllu"}], "texts": 5, "tokens": 50, "targets": {"pos": 9}}
    about["left_out"] = {"target_beyond_the_cut": 3}
    manifest = {"command": "layers", "complete": True, "model": model, "settings": {"seed": 0}, "studies_skipped": {}}
    manifest["corpora"] = {"pos, train": about}
    tables = write_tables(folder, layer_tables(LAYERS, text=HOSTILE))
    write_manifest(folder, manifest | {"tables": tables})
    return write_page(Results(folder)).as_uri()


@pytest.fixture(scope="module")
def page(address, browser):
    page = new_page(browser, viewport={"width": 1280, "height": 900})
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda message: page.problems.append(message.text))
    page.goto(f"{address}#view=layers")
    page.wait_for_selector("html[data-ready]")
    yield page
    assert page.problems == []
    assert page.evaluate("window.hurt") is None


def test_a_page_of_layers_has_its_views(page):
    assert page.locator(".tabs button").all_inner_texts() == ["Overview", "Layers", "Tables"]
    assert page.locator("[data-layer]").count() == 2 * LAYERS
    page.locator("[data-layer]").first.hover()
    assert "pos, layer 0" in page.inner_text(".tip")


def test_another_mix_is_shown_when_asked_for(page):
    page.get_by_role("button", name="heads, as trained").click()
    assert page.locator("[data-layer]").count() == LAYERS
    page.get_by_role("button", name="layers, as trained").click()
    assert page.locator("[data-layer]").count() == 2 * LAYERS


def test_the_order_is_a_table_of_places(page):
    cells = page.locator(".layers tbody tr").first.locator("td").all_inner_texts()
    assert cells == ["pos", "1.00", "", "below"]
    cells = page.locator(".layers tbody tr").nth(1).locator("td").all_inner_texts()
    assert cells == ["arcs", "2.00", "above", ""]


def test_targets_are_shown_by_task_with_their_spans(page):
    page.locator(".layers select").select_option("arcs")
    assert page.locator(".target").count() == 2
    assert page.locator(".target .span1").first.inner_text() == '"><script>window.hurt=1</script>'
    assert page.locator(".target").first.locator("svg rect").count() == 2 * LAYERS + 2


def test_it_is_drawn_anew_in_the_dark(page):
    before = page.locator(".layers svg rect").first.get_attribute("fill")
    page.locator("button.theme").click()
    assert page.locator(".layers svg rect").first.get_attribute("fill") != before
    page.locator("button.theme").click()
