"""The benchmarks' contract: one JSON line with name, ratio, goal and holds."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.__main__ import NAMES, _write_table
from benchmarks.measuring import Result, ratio

ROOT = Path(__file__).parents[1]


def test_one_json_line():
    command = [sys.executable, "-m", "benchmarks", "startup", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    [line] = done.stdout.splitlines()
    found = json.loads(line)
    assert found["name"] == "startup"
    assert found["goal"] == 1.0
    assert isinstance(found["ratio"], float)
    assert found["holds"] == (found["ratio"] <= found["goal"])


@pytest.mark.parametrize(("value", "at_least", "holds"), [(2, False, False), (1, False, True), (2, True, True)])
def test_bounds_from_above_and_below(value, at_least, holds):
    assert Result("x", value, 1.5, at_least=at_least).line()["holds"] == holds


def test_a_second_condition_counts():
    assert not Result("x", 1, 2, also_holds=False).line()["holds"]


def test_the_ratio_is_that_of_neighbours(monkeypatch):
    """On a clock of our own: `one` takes three times as long as `other` in one round, seven times in the next."""
    calls, seconds = [], {"one": iter((9, 3, 14)), "other": iter((1, 1, 2))}
    now = 0

    def call(name):
        nonlocal now
        calls.append(name)
        now += next(seconds[name])

    monkeypatch.setattr("benchmarks.measuring.time", SimpleNamespace(perf_counter=lambda: now))
    assert ratio(lambda: call("one"), lambda: call("other"), rounds=2) == 5
    assert calls == ["one", "other", "one", "other", "other", "one"]


def test_the_table_is_written_between_its_marks(tmp_path, monkeypatch):
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- measured -->\nstale\n<!-- end -->\nafter\n", encoding="utf-8")
    monkeypatch.setattr("benchmarks.__main__.TABLE", page)
    _write_table([Result("x", 1.0, 2.0).line()])
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- measured -->\nMeasured ")
    assert "| `x` | 1.0 | at most 2.0 | yes |" in text
    assert "stale" not in text
    assert text.endswith("<!-- end -->\nafter\n")


def test_every_benchmark_is_described():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in NAMES)
