"""One tab for the tests of a file; a file that opens pages has a fixture `address`."""

import pytest

from tests.views.chromium import Tab


@pytest.fixture(scope="module")
def tab(browser):
    return Tab(browser)


@pytest.fixture
def opened(tab, address):
    """Open the page at a link, in the one tab that all tests of a file share."""
    yield lambda link="", address=address: tab.go(address + link)
    tab.check()
