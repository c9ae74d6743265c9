"""A real browser for the tests of the page: Debian's chromium, driven by playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; the test is skipped where it is not installed."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed (Debian: apt install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Tab:
    """A tab with what went wrong in it."""

    def __init__(self, browser, **options):
        self.page = browser.new_page(viewport={"width": 1280, "height": 800}, **options)
        self.problems, self.requests = [], []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def go(self, address):
        self.page.goto("about:blank")
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]")
        return self

    def check(self):
        """Nothing went wrong, nothing was fetched."""
        assert self.problems == []
        assert [url for url in self.requests if not url.startswith(("file:", "data:", "about:"))] == []

    def head(self):
        return self.page.inner_text(".card h2")

    def nameless(self):
        """What can be pressed but has no name for a screen reader."""
        found = self.page.evaluate("""() => [...document.querySelectorAll("button, input, select, svg, [role]")]
            .filter((node) => !node.closest("[aria-hidden]"))
            .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length))
            .map((node) => node.outerHTML.slice(0, 80))""")
        return [node for node in found if 'role="status"' not in node and 'role="listbox"' not in node]
