"""What the tests of the page share."""

from importlib.resources import files

import pytest

from tests.views.chromium import new_page

WEB = files("headatlas.views.page") / "web"


ADDRESS = "http://page.test/"


@pytest.fixture(scope="module")
def run(browser):
    """Evaluate JavaScript; `modules` are imported by the names of their files, their exports in one object `m`."""
    page = new_page(browser)

    def serve(route):
        name = route.request.url.removeprefix(ADDRESS)
        if name.endswith(".js"):
            route.fulfill(body=(WEB / name).read_text(encoding="utf-8"), content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html><title>t</title>", content_type="text/html")

    page.route(f"{ADDRESS}**", serve)
    page.goto(ADDRESS)

    def evaluate(modules, code, argument=None):
        imports = ", ".join(f"...await import('/{name}.js')" for name in modules.split())
        return page.evaluate(f"async (x) => {{ const m = {{ {imports} }}; {code} }}", argument)

    return evaluate
