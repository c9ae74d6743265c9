"""Paired changes against loops over the same signs and weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.statistics.paired import bootstrap_means, holm, paired_changes
from headatlas.statistics.resampling import poisson_weights, signs
from intervals import expected_interval

IDS = [f"0.{number}" for number in range(30)]


@pytest.fixture(scope="module")
def changes():
    rng = np.random.default_rng(0)
    found = rng.normal(size=(30, 4))
    found[:, 1] -= 1.0
    found[:, 3] = 0.0
    return found


def test_p_values_equal_a_loop_over_permutations(changes):
    flips = signs(IDS, 99, 5)
    statistics = []
    for permutation in range(99):
        largest = 0.0
        for column in range(3):  # the last one has no change to test
            flipped = [flips[row, permutation] * changes[row, column] for row in range(30)]
            largest = max(largest, abs(sum(flipped)) / sum(value**2 for value in flipped) ** 0.5)
        statistics.append(largest)
    found = paired_changes(changes, IDS, seed=5, resamplings=99)
    for column in range(3):
        own = abs(changes[:, column].sum()) / (changes[:, column] ** 2).sum() ** 0.5
        assert found.p_value[column] == (1 + sum(value >= own for value in statistics)) / 100
    assert found.p_value[1] == 0.01
    assert found.p_value[3] == 1.0
    assert found.mean == pytest.approx(changes.mean(0))


def test_intervals_equal_a_loop_over_replicates(changes):
    weights = poisson_weights(IDS, 50, 5)
    means = []
    for replicate in range(50):
        total = sum(int(weight) for weight in weights[:, replicate])
        means.append([sum(weights[row, replicate] * changes[row, k] for row in range(30)) / total for k in range(4)])
    low, high = bootstrap_means(changes, IDS, seed=5, resamplings=50)
    assert np.stack([low, high]) == pytest.approx(expected_interval(means, len(IDS)))


def test_more_conditions_make_p_values_larger(changes):
    alone = paired_changes(changes[:, :1], IDS, seed=1, resamplings=199).p_value[0]
    among = paired_changes(changes, IDS, seed=1, resamplings=199).p_value[0]
    assert among >= alone


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
@settings(max_examples=60)
def test_holm_by_its_definition(p_values):
    found = holm(np.array(p_values))
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for place in range(len(p_values)):
        rank = order.index(place)
        expected = max(min(1.0, (len(p_values) - k) * p_values[order[k]]) for k in range(rank + 1))
        assert found[place] == pytest.approx(expected)


def test_holm_leaves_missing_values_out():
    assert holm(np.array([0.01, np.nan, 0.04])) == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)
