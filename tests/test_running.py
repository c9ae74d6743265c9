"""How the tests run: wherever they are started, and with a word about each that did not run."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import settings

import running
from patience import cpu_seconds
from running import heed_ctrl_c, pytest_terminal_summary
from tests.views.chromium import chromium

SHOW = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"


def test_ctrl_c_is_heeded_in_a_job_that_a_script_put_into_the_background():
    """Here and in the processes that tests start."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        heed_ctrl_c()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert subprocess.run([sys.executable, "-c", SHOW], capture_output=True, check=True).stdout == b"True\n"
    finally:
        signal.signal(signal.SIGINT, before)


def test_no_property_has_a_deadline():
    assert settings().deadline is None


def test_what_never_ends_fails():
    with pytest.raises(pytest.fail.Exception, match="no end after"), cpu_seconds(0.05):
        re.match(r"(a+)+$", "a" * 60 + "b")


def test_skips_are_told_in_the_last_lines_once_for_each_reason():
    lines = []
    reports = [SimpleNamespace(longrepr=("f.py", line, f"Skipped: {why}")) for line, why in enumerate("aab")]
    terminal = SimpleNamespace(stats={"skipped": reports}, write_line=lambda line, **_: lines.append(line))
    pytest_terminal_summary(terminal)
    assert lines == ["Skipped 2 tests: a", "Skipped 1 test: b"]


def test_a_missing_browser_is_skipped_but_not_where_it_is_needed(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.delenv("HEADATLAS_NEED_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="apt install chromium"):
        chromium().__enter__()
    monkeypatch.setenv("HEADATLAS_NEED_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="apt install chromium"):
        chromium().__enter__()


def test_tests_are_marked_by_what_they_use_and_where_they_are(request):
    """`make quick` relies on it."""
    marks = {item.path.name: {mark.name for mark in item.iter_markers()} for item in request.session.items}
    for name, mark in {"test_page_layers.py": "browser", "test_ray_team.py": "ray", "test_kills.py": "kills"}.items():
        assert mark in marks.get(name, {mark}), name
    assert set(running.MARKS_OF_FIXTURES.values()) | set(running.MARKS_OF_FOLDERS.values()) <= {
        line.partition(":")[0] for line in request.config.getini("markers")
    }
