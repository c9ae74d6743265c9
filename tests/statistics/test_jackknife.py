"""Shares of examples in a score of summed counts, against leaving examples out one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.statistics.paired import jackknife_shares, shares_beside


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


def test_examples_that_a_condition_leaves_alone_have_no_share_in_its_change():
    rng = np.random.default_rng(1)
    plain = rng.integers(1, 9, size=(12, 2)).astype(float)
    others = np.repeat(plain[:, None], 3, axis=1)
    others[:5, 1] += rng.integers(1, 4, size=(5, 2))
    others[:, 2] += 1
    changes = shares_beside(others, plain, ratio) - jackknife_shares(plain, ratio)[:, None]
    assert (changes[:, 0] == 0).all()
    assert (changes[5:, 1] == 0).all()
    for place in range(3):
        expected = ratio(others[:, place].sum(0)) - ratio(plain.sum(0))
        assert changes[:, place].mean() == pytest.approx(expected, abs=1e-12)
    own = jackknife_shares(others[:, 2], ratio) - jackknife_shares(plain, ratio)
    assert changes[:, 2] == pytest.approx(own), "where all change, the shares are the jackknife's"
