"""The live view in a real browser, served as people have it: type, mask, remove, cut, be refused."""

import queue
import threading

import pytest
from playwright.sync_api import expect

from headatlas.commands.explore import run
from headatlas.commands.explore.address import write_redirect
from headatlas.commands.explore.options import explore
from headatlas.errors import HeadatlasError
from patience import SECONDS
from tests.views.chromium import new_page
from tests.views.synthetic_atlas import synthetic_atlas

HOSTILE = "<img src=x onerror='window.hurt=1'> שלום the dog"


@pytest.fixture(scope="module")
def addresses(load_tiny, tmp_path_factory):
    """A server without an atlas and one with; they end with the tests."""
    atlas = synthetic_atlas(tmp_path_factory.mktemp("atlas"), [4, 4], attention="decoder", heads_per_key=2)
    return [serve(load_tiny("bert"), None), serve(load_tiny("llama"), atlas)]


def serve(model, atlas, **options):
    addresses, ready = [], threading.Event()

    def opened(address):
        addresses.append(address)
        ready.set()

    named = {"opened": opened, "browser": False} | options
    threading.Thread(target=explore, args=(model, atlas), kwargs=named, daemon=True).start()
    assert ready.wait(SECONDS)
    return addresses[0]


@pytest.fixture
def page(browser):
    page = new_page(browser, viewport={"width": 1280, "height": 900})
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    yield page
    assert [problem for problem in problems if "400 (Bad Request)" not in problem] == []
    page.close()


def answered(page):
    page.wait_for_selector(".live[data-state=answered]")


def measured(page):
    page.wait_for_selector(".live[data-effects=known]")


def press_words(page, mode, *places):
    page.click(f".toggle button:has-text('{mode}')")
    for place in places:
        page.locator(".words button").nth(place).click()


def test_it_opens_on_the_head_that_matters_most(addresses, page):
    page.goto(addresses[0])
    measured(page)
    assert page.locator("#thumbnail-7").count() == 1
    first = page.locator(".effects tbody tr").first
    assert first.get_attribute("aria-current") == "true"
    name = first.locator("th").inner_text()
    expect(page.locator(".verdict")).to_contain_text(f"Head {name}")
    changes = page.locator(".effects tbody td:nth-child(3)").all_inner_texts()
    assert len(changes) == 8
    assert page.locator(".card").count() == 0, "without tables there is nothing to say of a head"


def test_type_mask_remove_restore(addresses, page):
    page.goto(addresses[0] + "#head=1-2")
    measured(page)
    expect(page.locator(".verdict")).to_contain_text("Head 1-2")
    page.fill("#live-text", "the cat sat.")
    expect(page.locator(".words button")).to_have_text(["[CLS]", "the", "cat", "sat", ".", "[SEP]"])
    expect(page.locator(".expected")).to_contain_text("No word is masked. All 4 tokens")
    assert page.locator(".words button").first.is_disabled()
    page.locator(".words button").nth(2).click()
    expect(page.locator(".expects caption")).to_have_text("In place of “cat”")
    assert page.locator(".expects tbody tr").count() == 5
    expect(page.locator(".ranking h3")).to_have_text("Which heads matter for “cat”")
    page.dblclick("#thumbnail-5")
    expect(page.locator(".expects th")).to_have_count(4)
    expect(page.locator(".removal [role=status]")).to_have_text("Removed: 2-2")
    expect(page.locator(".expected")).to_contain_text("Total change:")
    page.focus(".maps svg")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".removal [role=status]")).to_have_text("Removed: 2-2, 2-3")
    answered(page)
    page.click("text=Restore all")
    expect(page.locator(".expects th")).to_have_count(2)
    page.locator(".expects .link").nth(3).click()
    other = page.locator(".expects .link").nth(3).inner_text()
    expect(page.locator(".ranking h3")).to_have_text(f"Which heads matter for “{other}”")


def test_cut_attention_between_words_in_all_heads_or_in_some(addresses, page):
    page.goto(addresses[0])
    page.fill("#live-text", "the cat sat by the river.")
    expect(page.locator(".words button")).to_have_count(9)
    page.locator(".words button").nth(2).click()
    expect(page.locator(".expects caption")).to_have_text("In place of “cat”")
    press_words(page, "Cut from", 2)
    expect(page.locator(".cut")).to_contain_text("Nothing is cut yet")
    press_words(page, "Cut to", 3)
    page.locator(".words button").nth(6).click(modifiers=["Shift"])
    expect(page.locator(".cut")).to_contain_text("“cat” to “sat” “by” “the” “river” is cut in")
    expect(page.locator(".expects th")).to_have_count(4)
    everywhere = page.locator(".expected").inner_text()
    page.click("text=the heads shown below")
    expect(page.locator(".expected")).not_to_have_text(everywhere)
    page.click("text=cut as marked")
    expect(page.locator(".effects th", has_text="cut in it alone")).to_be_visible()
    page.click("text=Undo the cut")
    expect(page.locator(".expects th")).to_have_count(2)


def test_the_private_file_leads_to_the_page_and_is_not_named_there(addresses, page, tmp_path):
    page.goto(write_redirect(tmp_path, addresses[0]).as_uri())
    page.wait_for_url(addresses[0] + "*")
    answered(page)
    assert page.evaluate("document.referrer") == ""


def test_hostile_text_is_shown_as_text_and_a_refusal_is_told(addresses, page):
    page.goto(addresses[0])
    answered(page)
    page.fill("#live-text", HOSTILE)
    expect(page.locator(".words button").nth(1)).to_have_text("<")
    page.fill("#live-text", "dog " * 70)
    expect(page.locator(".problem").first).to_contain_text("72 tokens")
    page.fill("#live-text", "dog")
    expect(page.locator(".problem").first).to_have_text("")
    assert page.evaluate("window.hurt") is None


def test_with_an_atlas_the_live_view_stands_beside_the_others(addresses, page):
    page.goto(addresses[1])
    measured(page)
    assert page.locator(".tabs button").first.inner_text() == "Live"
    expect(page.locator(".expects caption")).to_have_text("Next")
    assert "share keys and values" in page.inner_text(".maps")
    page.goto(addresses[1] + "#view=sentence&example=1&head=2-3")
    page.click("text=Open in the live view")
    assert page.input_value("#live-text") == "The old man saw a little dog."
    expect(page.locator(".verdict")).to_contain_text("Head 2-3")
    assert "text=The%20old%20man" in page.url


def test_a_page_shows_how_far_the_model_is_loaded_then_opens(load_tiny, page, monkeypatch):
    gate, load = threading.Event(), run.load_explored
    monkeypatch.setattr(run, "load_explored", lambda *given: gate.wait(SECONDS) and load(*given))
    page.goto(serve(load_tiny("bert"), None, text="she sat by the river."))
    expect(page.locator("li.now")).to_have_text("Load the model")
    gate.set()
    answered(page)
    assert page.input_value("#live-text") == "she sat by the river."


def test_a_page_says_why_the_model_cannot_be_loaded(page, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "FAILURE_SECONDS", SECONDS)
    failures = queue.Queue()
    monkeypatch.setattr(threading, "excepthook", lambda given: failures.put(given.exc_value))
    page.goto(serve(str(tmp_path / "no-model.gguf"), None))
    expect(page.locator("main.failed p")).to_contain_text("no-model.gguf")
    assert isinstance(failures.get(timeout=SECONDS), HeadatlasError), "the command ends with the same reason"
