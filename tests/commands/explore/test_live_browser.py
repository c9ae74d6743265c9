"""The live view in a real browser, served as people have it: type, mask, remove, be refused."""

import threading

import pytest
from playwright.sync_api import expect

from headatlas.commands.explore.address import write_redirect
from headatlas.commands.explore.options import explore
from patience import SECONDS
from tests.views.chromium import new_page
from tests.views.synthetic_atlas import synthetic_atlas

HOSTILE = "<img src=x onerror='window.hurt=1'> שלום the dog"


@pytest.fixture(scope="module")
def addresses(load_tiny, tmp_path_factory):
    """A server without an atlas and one with; they end with the tests."""
    atlas = synthetic_atlas(tmp_path_factory.mktemp("atlas"), [4, 4], attention="decoder")
    return [serve(load_tiny("bert"), None), serve(load_tiny("gpt2"), atlas)]


def serve(model, atlas):
    ready, address = threading.Event(), []

    def opened(where):
        address.append(where)
        ready.set()

    threading.Thread(
        target=explore, args=(model, atlas), kwargs={"opened": opened, "browser": False}, daemon=True
    ).start()
    assert ready.wait(SECONDS)
    return address[0]


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


def test_type_mask_remove_restore(addresses, page):
    page.goto(addresses[0])
    answered(page)
    assert page.locator("main .pair path").count() > 20
    page.fill("#live-text", "the cat sat.")
    expect(page.locator(".words button")).to_have_text(["the", "cat", "sat", "."])
    page.locator(".words button").nth(1).click()
    expect(page.locator(".expects caption")).to_have_text("In place of “cat”")
    assert page.locator(".expects tbody tr").count() == 5
    page.click("#removal-5")
    expect(page.locator(".expects th")).to_have_count(4)
    assert page.inner_text(".removal [role=status]") == "Removed: 2-2"
    assert page.inner_text(".card h2") == "Head 2-2"
    page.focus(".removal svg")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.inner_text(".removal [role=status]") == "Removed: 2-2, 2-3"
    answered(page)
    page.click(".removal button")
    expect(page.locator(".expects th")).to_have_count(2)


def test_the_private_file_leads_to_the_page_and_is_not_named_there(addresses, page, tmp_path):
    page.goto(write_redirect(tmp_path, addresses[0]).as_uri())
    page.wait_for_url(addresses[0])
    answered(page)
    assert page.evaluate("document.referrer") == ""


def test_hostile_text_is_shown_as_text_and_a_refusal_is_told(addresses, page):
    page.goto(addresses[0])
    answered(page)
    page.fill("#live-text", HOSTILE)
    expect(page.locator(".words button").first).to_have_text("<")
    page.fill("#live-text", "dog " * 70)
    expect(page.locator(".problem")).to_contain_text("72 tokens")
    page.fill("#live-text", "dog")
    expect(page.locator(".problem")).to_have_text("")
    assert page.evaluate("window.hurt") is None


def test_with_an_atlas_the_live_view_stands_beside_the_others(addresses, page):
    page.goto(addresses[1])
    answered(page)
    assert page.locator(".tabs button").first.inner_text() == "Live"
    expect(page.locator(".expects caption")).to_have_text("Next")
    page.click("#tab-grid")
    page.click("main rect[data-head='6']")
    page.click("#tab-live")
    expect(page.locator(".verdict")).to_contain_text("Head 2-3")
