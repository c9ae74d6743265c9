"""When a number counts as reproduced: near enough, or inside an interval that says something."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from headatlas.commands.reproduce.checks import TOLERANCES, WIDEST_INTERVAL, number, table_of
from headatlas.results.tables import TABLES

shares = some.floats(0, 100)


@given(shares, shares, some.floats(0, 5), some.floats(0, 20), some.floats(0, 20))
def test_a_verdict_follows_from_distance_and_interval(published, ours, tolerance, below, above):
    low, high = ours - below, ours + above
    found = number("table 1", "x", "%", published, tolerance).measured(ours, tolerance, low, high)
    near = abs(ours - published) <= tolerance + 1e-9
    inside = low <= published <= high and high - low <= WIDEST_INTERVAL
    assert found.verdict == ("reproduced" if near or inside else "differs")


def test_without_an_interval_only_the_distance_counts():
    check = number("section 3.1", "heads", "heads", 4, TOLERANCES["heads"])
    assert check.measured(5, TOLERANCES["heads"]).verdict == "reproduced"
    assert check.measured(6, TOLERANCES["heads"]).verdict == "differs"
    assert check.measured(6, TOLERANCES["heads"]).ours == "6"


@pytest.mark.parametrize(
    ("unit", "rule"),
    [("%", "within 2 points, or inside our interval"), ("nats", "within 2 nats"), ("heads", "within 2 head")],
)
def test_a_rule_says_what_is_asked(unit, rule):
    assert number("table 1", "x", unit, 1.0, 2.0).rule == rule
    assert number("table 1", "x", "words", 1.0, 0).rule == "the same"


def test_the_table_has_differences_and_what_is_missing():
    check = number("table 1", "x", "%", 50.0, 2.0, decimals=1)
    frame = TABLES["reproduction"].conform(
        table_of([check.measured(51.5, 2.0, 49.0, 54.0), check.without("--ptb-dev")])
    )
    assert frame["difference"].tolist()[0] == pytest.approx(1.5)
    assert math.isnan(frame["difference"].tolist()[1])
    assert frame["verdict"].tolist() == ["reproduced", "input missing"]
    assert frame["missing"].tolist() == ["", "--ptb-dev"]
    assert frame["published"].tolist() == ["50.0", "50.0"]
