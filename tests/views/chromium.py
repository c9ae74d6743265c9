"""A real browser for the tests of the page: Debian's chromium, driven by playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from patience import SECONDS

NAMES = ("chromium", "chromium-browser", "google-chrome")
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
    """Start the browser; without one, skip the test, or fail it if HEADATLAS_NEED_BROWSER is set."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        reason = "chromium is not installed (Debian: apt install chromium)"
        if os.environ.get("HEADATLAS_NEED_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    expect.set_options(timeout=1000 * SECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=1000 * SECONDS)
        yield browser
        browser.close()


def new_page(browser: Browser, **options: Any) -> Page:
    """Open a page that waits long enough even on a busy machine."""
    page = browser.new_page(**{"viewport": {"width": 1280, "height": 800}} | options)
    page.set_default_timeout(1000 * SECONDS)
    return page


class Tab:
    """A tab that records errors, messages and requests."""

    def __init__(self, browser, **options):
        self.page = new_page(browser, **options)
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
        """Assert that nothing went wrong and nothing was fetched."""
        assert self.problems == []
        assert [url for url in self.requests if not url.startswith(("file:", "data:", "about:"))] == []

    def head(self):
        return self.page.inner_text(".card h2")

    def nameless(self):
        """Controls without a name for a screen reader."""
        controls = self.page.evaluate("""() => [...document.querySelectorAll("button, input, select, svg, [role]")]
            .filter((node) => !node.closest("[aria-hidden]"))
            .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim() || node.labels?.length))
            .map((node) => node.outerHTML.slice(0, 80))""")
        return [node for node in controls if 'role="status"' not in node and 'role="listbox"' not in node]
