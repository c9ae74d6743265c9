"""Pages for notebooks: one frame that holds everything and stands in a real browser."""

import re
from html import unescape

import pytest

from headatlas.errors import HeadatlasError
from headatlas.views.notebook import NotebookPage, head_view, show_atlas
from tests.views.chromium import new_page
from tests.views.synthetic_atlas import synthetic_atlas

HOSTILE = '"></iframe><script>window.hurt=1</script>'
TEXT = f"the old dog {HOSTILE} ran."


@pytest.fixture(scope="module")
def view(load_tiny):
    return head_view(load_tiny("bert"), TEXT, head="2-3")


def test_a_frame_holds_the_whole_page_and_nothing_gets_out(view):
    frame = view._repr_html_()
    found = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="([^"]*)" title="[^"]*" style="[^"]*"></iframe>', frame)
    assert unescape(found[1]) == view.html
    assert "allow-same-origin" not in found[2]
    assert "connect-src" not in view.html.partition("</head>")[0]


def test_a_page_can_be_kept(view, tmp_path):
    path = view.save(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == view.html
    assert repr(view).startswith("NotebookPage of ")


@pytest.mark.parametrize(("text", "head"), [("", "1-1"), ("dog", "3-1"), ("dog", "x"), ("dog " * 99, "1-1")])
def test_what_cannot_be_shown_is_refused(load_tiny, text, head):
    with pytest.raises(HeadatlasError):
        head_view(load_tiny("bert"), text, head=head)


def test_frames_show_their_pages_in_a_browser(view, tmp_path, browser):
    atlas = show_atlas(synthetic_atlas(tmp_path, [3, 2]), height=500)
    assert isinstance(atlas, NotebookPage)
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html>{view._repr_html_()}{atlas._repr_html_()}", encoding="utf-8")
    page = new_page(browser, viewport={"width": 1200, "height": 1500})
    problems, requests = [], []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(notebook.as_uri())
    one, other = page.frame_locator("iframe").first, page.frame_locator("iframe").last
    assert one.locator(".verdict").inner_text().startswith("Head 2-3")
    one.locator("main path").first.wait_for()
    one.locator("#tab-grid").click()
    one.locator("main image").nth(7).wait_for()
    assert other.locator(".tabs button").all_inner_texts() == ["Overview", "Map", "Grid", "Sentence", "Tables"]
    other.locator("#tab-map").click()
    other.locator("main circle[data-head='4']").click()
    assert other.locator(".card h2").inner_text() == "Head 2-2"
    assert page.evaluate("window.hurt") is None
    assert problems == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "about:"))] == []
