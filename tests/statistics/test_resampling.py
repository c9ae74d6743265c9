"""Draws that belong to a unit's id: the same everywhere, and distributed as they should be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.statistics.resampling import (
    LARGEST_WEIGHT,
    effective_units,
    fold_of,
    percentile_interval,
    permutation_p_value,
    poisson_weights,
    signs,
)
from intervals import expected_interval, units_like

MANY = [f"0.0.{number}" for number in range(400)]


@given(st.lists(st.text(max_size=5), min_size=1, max_size=5), st.integers(0, 5), st.randoms())
def test_draws_depend_on_id_and_seed_alone(ids, seed, rng):
    shuffled = rng.sample(ids, len(ids))
    for draw in (poisson_weights, signs):
        alone = {name: draw([name], 11, seed)[0].tolist() for name in ids}
        assert draw(shuffled, 11, seed).tolist() == [alone[name] for name in shuffled]


@pytest.mark.parametrize("draw", [poisson_weights, signs])
def test_seeds_ids_and_purposes_differ(draw):
    assert not np.array_equal(draw(["a"], 64, 0), draw(["a"], 64, 1))
    assert not np.array_equal(draw(["a"], 64, 0), draw(["b"], 64, 0))


@pytest.mark.parametrize("draw", [poisson_weights, signs])
def test_fewer_draws_are_the_first_of_more(draw):
    np.testing.assert_array_equal(draw(["a"], 5, 0), draw(["a"], 99, 0)[:, :5])


def test_no_draws_at_all():
    assert poisson_weights(["a", "b"], 0, 0).shape == signs(["a", "b"], 0, 0).shape == (2, 0)


def test_weights_are_poisson_with_mean_one():
    weights = poisson_weights(MANY, 1000, 7)
    for weight in range(5):
        share = math.exp(-1) / math.factorial(weight)
        assert np.mean(weights == weight) == pytest.approx(share, abs=5 * math.sqrt(share / weights.size))
    assert weights.mean() == pytest.approx(1, abs=0.01)
    assert weights.var(dtype=float) == pytest.approx(1, abs=0.02)
    assert weights.max() <= LARGEST_WEIGHT


def test_weights_of_units_and_replicates_are_independent():
    weights = poisson_weights(MANY, 400, 7).astype(float)
    for one, other in ((weights[:-1], weights[1:]), (weights[:, :-1], weights[:, 1:])):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.015


def test_signs_are_even():
    drawn = signs(MANY, 1000, 7)
    assert set(np.unique(drawn)) == {-1, 1}
    assert abs(drawn.mean()) < 0.01


def test_folds_are_two_halves_that_the_seed_chooses():
    folds = [fold_of(name, 0) for name in MANY]
    assert set(folds) == {0, 1}
    assert abs(sum(folds) - 200) < 60
    assert folds != [fold_of(name, 1) for name in MANY]
    assert folds == [fold_of(name, 0) for name in MANY]


def test_the_interval_holds_the_middle():
    values = np.arange(1001.0)[:, None] * [1, 2]
    low, high = percentile_interval(np.random.default_rng(0).permutation(values))
    np.testing.assert_allclose(low, [25, 50])
    np.testing.assert_allclose(high, [975, 1950])


@pytest.mark.parametrize("units", [2, 5, 20, 400])
def test_with_few_units_the_interval_is_wider_by_students_t(units):
    values = np.random.default_rng(1).normal(size=(2000, 3))
    np.testing.assert_allclose(percentile_interval(values, units), expected_interval(values, units))


def test_units_of_unequal_size_count_for_fewer():
    rng = np.random.default_rng(2)
    weights = rng.poisson(1, size=(4000, 30))
    equal, unequal = weights @ np.full(30, 7), weights @ np.array([100, *[1] * 29])
    assert effective_units(np.stack([equal, unequal], 1).astype(float)) == pytest.approx([30, 1.7], rel=0.1)
    assert effective_units(equal.astype(float)) == pytest.approx(units_like(equal.tolist()))


def test_no_replicates_no_interval():
    low, high = percentile_interval(np.empty((0, 3)))
    assert np.isnan(low).all()
    assert np.isnan(high).all()
    assert low.shape == high.shape == (3,)


@pytest.mark.parametrize(("observed", "expected"), [(5, 1 / 5), (3, 2 / 5), (1, 4 / 5), (0, 1)])
def test_p_values_count_the_observed_one(observed, expected):
    assert permutation_p_value(observed, np.array([0.5, 1, 3, 2])) == expected


def test_no_permutations_no_p_value():
    assert math.isnan(permutation_p_value(1, np.empty(0)))
