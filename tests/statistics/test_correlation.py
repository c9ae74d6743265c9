"""Correlations against scipy, their intervals, and permutations within groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from headatlas.statistics.correlation import fisher_interval, pearson, permuted_within, spearman


def test_correlations_are_those_of_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 6, size=(2, 5, 9)).astype(float)
    assert spearman(first, second) == pytest.approx([spearmanr(a, b)[0] for a, b in zip(first, second, strict=True)])
    assert pearson(first, second) == pytest.approx([pearsonr(a, b)[0] for a, b in zip(first, second, strict=True)])


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [1.0, 2.0], [1.0, np.nan, 2.0]])
def test_a_constant_short_or_missing_side_has_none(values):
    assert np.isnan(spearman(np.arange(float(len(values))), np.array(values)))


def test_the_interval_lies_around_the_value_and_covers_the_truth():
    rng = np.random.default_rng(1)
    held = []
    for _ in range(200):
        first = rng.normal(size=40)
        second = 0.6 * first + 0.8 * rng.normal(size=40)
        drawn = rng.integers(40, size=(200, 40))
        value = float(pearson(first, second))
        low, high = fisher_interval(value, pearson(first[drawn], second[drawn]), 40)
        assert low < value < high
        held.append(low <= 0.6 <= high)
    assert 0.9 <= np.mean(held) <= 0.99


def test_no_interval_without_replicates_or_value():
    assert np.isnan(fisher_interval(0.5, np.array([np.nan, 0.4]), 30)).all()
    assert np.isnan(fisher_interval(np.nan, np.array([0.3, 0.4]), 30)).all()


def test_permutations_stay_within_their_group_and_reach_every_place():
    groups = np.array([0, 1, 0, 1, 1])
    places = permuted_within(groups, 200, seed=3)
    assert (groups[places] == groups).all()
    assert (np.sort(places, axis=1) == np.arange(5)).all()
    assert {tuple(row) for row in places[:, [1, 3, 4]].tolist()} == {
        (a, b, c) for a in (1, 3, 4) for b in (1, 3, 4) for c in (1, 3, 4) if len({a, b, c}) == 3
    }
