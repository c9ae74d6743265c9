"""Measures of layers against sums written out."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from headatlas.statistics.layer_measures import (
    centre_of_gravity,
    differentials,
    divergence_from_uniform,
    expected_layer,
    over_texts,
    over_trainings,
    student,
)

scores = st.lists(st.floats(0, 1), min_size=2, max_size=8)


@given(scores)
def test_expected_layer_equals_sums_written_out(cumulative):
    gains = [after - before for before, after in pairwise(cumulative)]
    for clip in (False, True):
        used = [max(0.0, gain) for gain in gains] if clip else gains
        found = expected_layer(np.array([cumulative, cumulative]), clip)[1]
        total = math.fsum(used)
        if total > 1e-6:
            wanted = math.fsum((layer + 1) * gain for layer, gain in enumerate(used)) / total
            assert found == pytest.approx(wanted, rel=1e-6, abs=1e-6)
        elif total < -1e-6:
            assert math.isnan(found)
    np.testing.assert_allclose(differentials(np.array(cumulative)), gains)


@given(st.lists(st.floats(0.0, 5), min_size=1, max_size=8).filter(lambda some: sum(some) > 0.1))
def test_centre_and_divergence_equal_sums_written_out(raw):
    weights = np.array(raw) / sum(raw)
    assert centre_of_gravity(weights) == pytest.approx(sum(layer * weight for layer, weight in enumerate(weights)))
    wanted = sum(weight * math.log(weight * len(weights)) for weight in weights if weight > 0)
    assert divergence_from_uniform(weights) == pytest.approx(wanted, abs=1e-9)
    assert divergence_from_uniform(weights) > -1e-9


def test_nothing_gained_has_no_expected_layer():
    assert math.isnan(expected_layer(np.array([0.5, 0.5, 0.5])))
    assert math.isnan(expected_layer(np.array([0.5, 0.4]), clip=True))


def slow_student(value, *sources):
    """The interval and p-value with sums written out. sources: a variance and its degrees of freedom each."""
    variance = sum(amount for amount, _ in sources)

    def tail(at):
        return sum(amount / variance * 2 * stats.t.sf(at, free) for amount, free in sources)

    half = optimize.brentq(lambda at: tail(at) - 0.05, 0, 100, xtol=1e-12) * math.sqrt(variance)
    return value - half, value + half, tail(abs(value) / math.sqrt(variance))


def test_student_equals_sums_written_out():
    rng = np.random.default_rng(0)
    trained, redrawn = rng.normal(size=5), rng.normal(size=300)
    mean = sum(trained) / 5
    variance = sum((value - mean) ** 2 for value in trained) / 4 * (1 + 1 / 5)
    of_texts = sum((value - redrawn.mean()) ** 2 for value in redrawn) / 300
    for value in (0.3, -2.0):
        found = student(value, over_trainings(trained), over_texts(redrawn, 40))
        assert [float(each) for each in found] == pytest.approx(slow_student(value, (variance, 4), (of_texts, 39)))
        alone = student(value, over_trainings(trained))
        assert [float(each) for each in alone] == pytest.approx(slow_student(value, (variance, 4)))


def test_one_training_says_nothing_of_its_spread():
    assert all(np.isnan(each) for each in student(1.0, over_trainings(np.array([1.0]))))
    both = student(1.0, over_trainings(np.array([1.0])), over_texts(np.array([0.0, 1.0]), 20))
    assert [float(each) for each in both] == pytest.approx(slow_student(1.0, (0.25, 19)))
    assert np.isnan(student(np.nan, over_texts(np.array([0.0, np.nan]), 20))[2])


def test_a_difference_that_never_varies_is_certain():
    same = over_trainings(np.full(4, 2.0))
    assert float(student(2.0, same)[2]) == 0.0
    assert float(student(0.0, same)[2]) == 1.0


def test_means_of_trainings_on_resampled_data_are_covered_as_often_as_stated():
    """Bootstrap means of a sample, with noise of the training: 95 % of intervals hold the true mean."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(1500):
        sample = rng.normal(size=40)
        trained = np.array([rng.choice(sample, 40).mean() + rng.normal(scale=0.1) for _ in range(5)])
        low, high, _ = student(trained.mean(), over_trainings(trained))
        held += low <= 0 <= high
    assert 0.93 < held / 1500 < 0.99
