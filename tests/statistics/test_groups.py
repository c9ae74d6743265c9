"""The test of groups: means against loops, all assignments where they are few, and calm where there is nothing."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from headatlas.statistics.groups import group_distances
from headatlas.statistics.kernels.group_sums import group_sums


def grouped(sizes, apart, seed=0):
    """Points in three dimensions whose groups lie so far apart."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return squareform(
        pdist(rng.normal(size=(len(groups), 3)) + apart * rng.normal(size=(len(sizes), 3))[groups])
    ), groups


def mean_by_hand(distances, groups, one, other):
    found = [
        distances[i, j]
        for i in range(len(groups))
        for j in range(i)
        if sorted((groups[i], groups[j])) == sorted((one, other))
    ]
    return (sum(found) / len(found) if found else math.nan), len(found)


def test_means_and_counts_against_a_loop():
    distances, groups = grouped([4, 1, 3], apart=1)
    found = group_distances(distances, groups, 3, permutations=5)
    for one in range(3):
        for other in range(3):
            mean, count = mean_by_hand(distances, groups, one, other)
            assert found.means[one, other] == pytest.approx(mean, nan_ok=True)
            assert found.pairs[one, other] == count
    same = groups[:, None] == groups
    pairs = np.triu(np.ones_like(same), 1)
    assert found.within == pytest.approx(distances[same & pairs].mean())
    assert found.between == pytest.approx(distances[~same & pairs].mean())


def test_p_values_near_those_of_all_assignments():
    distances, groups = grouped([3, 2, 2], apart=0.7, seed=1)
    every = []
    for turned in permutations(range(7)):
        mine = groups[list(turned)]
        within = [mean_by_hand(distances, mine, k, k) for k in range(3)]
        inside = sum(mean * count for mean, count in within) / sum(count for _, count in within)
        total = distances[np.triu_indices(7, 1)].sum()
        outside = (total - inside * 5) / (21 - 5)
        every.append((inside - outside, within[0][0]))
    true = every[0]
    exact = [np.mean([one[k] <= true[k] + 1e-9 for one in every]) for k in range(2)]
    found = group_distances(distances, groups, 3, permutations=3000)
    assert found.p_value == pytest.approx(exact[0], abs=0.04)
    assert found.p_values[0, 0] == pytest.approx(exact[1], abs=0.04)


def test_groups_that_lie_apart_are_seen():
    distances, groups = grouped([6, 6, 6], apart=5)
    found = group_distances(distances, groups, 3)
    assert found.within < found.between
    assert found.p_value == pytest.approx(1 / 1001)
    assert (found.p_adjusted.diagonal() < 0.01).all()


def test_meaningless_groups_are_not():
    small, adjusted = 0, 0
    for seed in range(40):
        distances, groups = grouped([5, 5, 5, 5], apart=0, seed=seed)
        found = group_distances(distances, groups, 4, seed=seed, permutations=199)
        small += found.p_value <= 0.1
        adjusted += found.p_adjusted.min() <= 0.1
        assert (found.p_adjusted[np.triu_indices(4)] >= 1 / 200).all()
    assert small <= 10  # 4 expected
    assert adjusted <= 10


def test_all_the_same_is_no_evidence():
    found = group_distances(np.ones((6, 6)) - np.eye(6), np.repeat([0, 1], 3), 2)
    assert found.p_value == 1
    assert (found.p_values == 1).all()
    assert np.isnan(found.p_adjusted).all()


def test_one_group_has_nothing_to_compare_with():
    distances, groups = grouped([5], apart=0)
    found = group_distances(distances, groups, 1)
    assert math.isnan(found.between)
    assert math.isnan(found.p_value)
    assert found.p_values.tolist() == [[1.0]]


def test_empty_groups_and_none_at_all():
    distances, groups = grouped([3, 3], apart=0)
    found = group_distances(distances, groups, 3)
    assert np.isnan(found.means[2]).all()
    assert np.isnan(found.p_adjusted[2]).all()
    assert np.isfinite(found.p_value)
    assert math.isnan(group_distances(np.zeros((0, 0)), np.zeros(0, dtype=int), 2).within)


def test_the_same_seed_the_same_test():
    distances, groups = grouped([4, 4], apart=0.5)
    one, other = (group_distances(distances, groups, 2, seed=7) for _ in range(2))
    assert one.p_value == other.p_value
    assert (one.p_adjusted == other.p_adjusted).all()


@pytest.mark.parametrize("number", [5, 40])
def test_sums_of_many_assignments_are_products_with_their_members(number):
    rng = np.random.default_rng(0)
    distances, assignments = rng.normal(size=(number, number)), rng.integers(0, 3, (130, number))
    members = (assignments[..., None] == np.arange(4)).astype(float)  # the last group is empty
    expected = np.einsum("pia,ij,pjb->pab", members, distances, members)
    np.testing.assert_allclose(group_sums(distances, assignments, 4), expected, atol=1e-9)
