"""Leads of one method over many: against a plain loop, and how often they err when there is nothing to find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.statistics.paired import simultaneous_leads
from headatlas.statistics.resampling import poisson_weights

NAMES = [f"0.{number}" for number in range(30)]


def test_intervals_and_p_values_are_those_of_a_loop():
    rng = np.random.default_rng(1)
    differences = rng.normal(size=(30, 3)) + np.array([0.0, 0.4, 1.0])
    found = simultaneous_leads(differences, NAMES, seed=5, resamplings=80)

    def student(sample, centre):
        return abs(sample.mean() - centre) / (sample.std(ddof=1) / np.sqrt(len(sample)))

    weights = poisson_weights(NAMES, 80, 5)
    largest = []
    for draw in range(80):
        rows = np.repeat(differences, weights[:, draw], axis=0)
        largest.append(max(student(rows[:, place], differences[:, place].mean()) for place in range(3)))
    width = sorted(largest)[int(np.ceil(0.95 * 79))]
    for place in range(3):
        column = differences[:, place]
        error = column.std(ddof=1) / np.sqrt(30)
        assert found.low[place] == pytest.approx(column.mean() - width * error)
        assert found.high[place] == pytest.approx(column.mean() + width * error)
        as_large = sum(one >= student(column, 0) for one in largest)
        assert found.p_value[place] == pytest.approx((1 + as_large) / 81)


@given(st.integers(2, 30), st.integers(0, 99), st.floats(-2, 2))
def test_equal_methods_have_no_lead_and_the_sign_turns_with_the_difference(documents, seed, shift):
    rng = np.random.default_rng(seed)
    differences = np.stack([np.zeros(documents), rng.normal(size=documents) + shift], 1)
    one, other = (
        simultaneous_leads(sign * differences, NAMES[:documents], seed=seed, resamplings=40) for sign in (1, -1)
    )
    assert (one.mean[0], one.low[0], one.high[0], one.p_value[0]) == (0, 0, 0, 1)
    np.testing.assert_allclose(one.low, -other.high)
    np.testing.assert_allclose(one.p_value, other.p_value)


def test_a_method_that_differs_in_few_documents_is_not_tested():
    differences = np.zeros((30, 2))
    differences[:3, 0], differences[:, 1] = 0.5, np.linspace(0.1, 0.4, 30)
    found = simultaneous_leads(differences, NAMES, seed=0, resamplings=200)
    assert found.mean.tolist() == pytest.approx([0.05, 0.25])
    assert np.isnan([found.low[0], found.high[0]]).all()
    assert found.p_value[0] == 1
    assert found.low[1] > 0
    assert found.p_value[1] < 0.05


def test_the_best_of_many_equal_methods_is_beaten_no_more_often_than_stated():
    """Of eight rivals as good as the method, any may differ in 5 % of experiments; 2.6 standard errors are allowed."""
    rng = np.random.default_rng(7)
    names = [f"0.{number}" for number in range(60)]
    wrong = 0
    experiments = 300
    for seed in range(experiments):
        f1 = rng.choice([0.0, 0.2, 0.4, 0.5], size=(60, 9)) + rng.normal(scale=0.1, size=(60, 1))
        found = simultaneous_leads(f1[:, :1] - f1[:, 1:], names, seed=seed, resamplings=199)
        wrong += bool((found.p_value <= 0.05).any())
    assert wrong / experiments <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / experiments)
