"""How the tests run: no deadlines, Ctrl-C heeded, a cache of their own, what is slow marked, files shared out.

A pytest plugin, which conftest.py loads.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A busy machine must not fail a test: neither one example nor making them has a time limit.
settings.register_profile("headatlas", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("headatlas")

# `make quick` leaves out what is marked; where a fixture or the folder tells, nobody has to mark by hand.
MARKS_OF_FIXTURES = {"browser": "browser", "cluster": "ray", "load_embedded": "weights"}
MARKS_OF_FOLDERS = {"faults": "kills"}

# Longest first, so that no process is left alone with a long file at the end.
LONG_FILES = (
    "test_rule.py",
    "test_ray_workers.py",
    "test_real_weights.py",
    "test_readme.py",
    "test_ctrl_c.py",
    "test_kills_of_commands.py",
    "test_random_weights.py",
    "test_page_browser.py",
    "test_broken_plugins.py",
    "test_contract.py",
)
SHARED_OUT = "tests/test_readme.py::"  # its tests are long and have nothing in common, so any process may take one


def heed_ctrl_c() -> None:
    """Undo what a shell does to a job in the background: it starts with Ctrl-C ignored, and so do its children."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


heed_ctrl_c()


def pytest_configure(config: pytest.Config) -> None:
    """Keep what headatlas caches in a folder of this session, which its processes share, and not in the home."""
    if "HEADATLAS_CACHE" not in os.environ:
        folder = os.environ["HEADATLAS_CACHE"] = tempfile.mkdtemp(prefix="headatlas-cache-")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(tryfirst=True)  # before marks are selected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by fixture and folder, and begin with the files that take longest."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        marks = {mark for fixture, mark in MARKS_OF_FIXTURES.items() if fixture in fixtures}
        marks |= {mark for folder, mark in MARKS_OF_FOLDERS.items() if item.path.parent.name == folder}
        for mark in marks:
            item.add_marker(mark)
    place = {name: number for number, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With --dist loadfile the tests of a file stay in one process and share what they make; `SHARED_OUT`'s do not."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if nodeid.startswith(SHARED_OUT) else super()._split_scope(nodeid)

    return ByFile(config, log)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say in the last lines what was skipped, how many tests and why; the reason says how to get what was missing."""
    reports = terminalreporter.stats.get("skipped", [])
    for reason, count in Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports).items():
        terminalreporter.write_line(f"Skipped {count} {'test' if count == 1 else 'tests'}: {reason}", yellow=True)
