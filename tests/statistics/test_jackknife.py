"""Shares of examples in a score of summed counts, against leaving examples out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.statistics.jackknife import jackknife_shares, ratio_shares


def ratio(counts):
    return counts[0] / counts[1] ** 1.5


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=8))
@settings(deadline=None)
def test_shares_are_those_of_leaving_each_example_out(rows):
    counts = np.array(rows, dtype=float)
    shares = jackknife_shares(counts, ratio)
    whole = ratio(counts.sum(0))
    assert shares.mean() == pytest.approx(whole)
    if len(rows) > 1:
        without = [ratio(np.delete(counts, place, axis=0).sum(0)) for place in range(len(rows))]
        spread = (len(rows) - 1) / len(rows) * sum((value - np.mean(without)) ** 2 for value in without)
        assert shares.var(ddof=1) / len(rows) == pytest.approx(spread), "the jackknife's own variance"


def test_conditions_are_scored_apart():
    counts = np.random.default_rng(0).integers(1, 9, size=(5, 3, 2)).astype(float)
    together = jackknife_shares(counts, ratio)
    for place in range(3):
        assert together[:, place] == pytest.approx(jackknife_shares(counts[:, place], ratio))


@given(st.lists(st.lists(st.integers(-5, 5), min_size=1, max_size=4), min_size=1, max_size=6))
@settings(deadline=None)
def test_the_mean_of_units_of_several_instances(units):
    sums, sizes = np.array([sum(unit) for unit in units], float), np.array([len(unit) for unit in units], float)
    shares = ratio_shares(sums, sizes)
    assert shares.mean() == pytest.approx(np.mean([value for unit in units for value in unit]), abs=1e-9)
    if len(set(sizes)) == 1:
        assert shares == pytest.approx(sums / sizes), "units of one size count alike"
