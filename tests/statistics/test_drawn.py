"""Differences of estimates and their tests, against slow loops and under the null."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, t

from headatlas.statistics.drawn import Drawn
from headatlas.statistics.resampling import poisson_weights
from intervals import expected_interval

FINITE = st.floats(-10, 10, allow_nan=False)
REPLICATES = 400


def spread(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))


def welch(drawn_a, drawn_b, units_a, units_b):
    """Standard error and degrees of freedom of a difference, from the textbook."""
    part_a, part_b = (
        spread(drawn) ** 2 * units / (units - 1) for drawn, units in ((drawn_a, units_a), (drawn_b, units_b))
    )
    freedom = (part_a + part_b) ** 2 / (part_a**2 / (units_a - 1) + part_b**2 / (units_b - 1))
    return math.sqrt(part_a + part_b), freedom


def test_paired_differences_are_percentiles_of_differences():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(50, 2)), rng.normal(size=(60, 2))
    drawn = Drawn.over(b, 30).minus(Drawn.over(a, 20), paired=True)
    np.testing.assert_allclose(drawn.interval(), expected_interval(b[:50] - a, 20))


def test_unpaired_differences_are_those_of_welch():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(200, 3)), 3 * rng.normal(size=(200, 3))
    drawn = Drawn.over(b, 12).minus(Drawn.over(a, 40), paired=False)
    estimates = np.array([0.5, -4.0, 9.0])
    for column in range(3):
        error, freedom = welch(a[:, column].tolist(), b[:, column].tolist(), 40, 12)
        difference = sorted(b[::-1, column] - a[:, column])
        factor = error / math.hypot(spread(a[:, column].tolist()), spread(b[:, column].tolist()))
        tail = norm.cdf(-factor * t(freedom).ppf(0.975))
        low, high = (end[column] for end in drawn.interval())
        assert [low, high] == pytest.approx(np.quantile(difference, [tail, 1 - tail]))
        own = spread([after - before for before, after in zip(a[:, column], b[::-1, column], strict=True)])
        p_value = 2 * t(freedom).sf(abs(estimates[column]) / (own * factor))
        assert drawn.p_values(estimates)[column] == pytest.approx(p_value)


@settings(max_examples=40)
@given(arrays(float, (8, 3), elements=FINITE), arrays(float, (8, 3), elements=FINITE), st.booleans())
def test_turned_round_the_interval_is_its_mirror(a, b, paired):
    low, high = Drawn.over(b, 5).minus(Drawn.over(a, 9), paired=paired).interval()
    turned_low, turned_high = Drawn.over(a, 9).minus(Drawn.over(b, 5), paired=paired).interval()
    np.testing.assert_allclose(turned_low, -high, atol=1e-9)
    np.testing.assert_allclose(turned_high, -low, atol=1e-9)


def test_pairing_takes_out_what_both_have_in_common():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(1000, 1))
    a, b = (Drawn.over(common + 0.01 * rng.normal(size=(1000, 1)), np.inf) for _ in range(2))
    paired, unpaired = (np.diff(b.minus(a, paired=paired).interval(), axis=0).item() for paired in (True, False))
    assert paired < 0.1 * unpaired
    assert unpaired == pytest.approx(2 * 1.96 * np.sqrt(2), rel=0.1)


def test_adjusted_p_values_are_those_of_the_loop():
    rng = np.random.default_rng(3)
    replicates = rng.normal(size=(300, 5)) * [1, 2, 3, 4, 5]
    replicates[rng.random(replicates.shape) < 0.1] = np.nan
    estimates = np.array([0.5, 5.0, -9.5, 30.0, 0.0])
    drawn = Drawn.over(replicates, 15)
    single = drawn.p_values(estimates)
    largest = []
    for row in replicates:
        deviations = []
        for column, value in enumerate(row):
            known = [other for other in replicates[:, column] if not math.isnan(other)]
            if not math.isnan(value):
                deviations.append(abs(value - sum(known) / len(known)) / spread(known))
        largest.append(max(deviations))
    for column, p_value in enumerate(single):
        statistic = norm.isf(p_value / 2)
        expected = (1 + sum(one >= statistic for one in largest)) / (1 + len(largest))
        assert drawn.adjusted(estimates)[column] == pytest.approx(expected)


def test_many_estimates_are_taken_in_parts(monkeypatch):
    rng = np.random.default_rng(4)
    drawn, estimates = Drawn.over(rng.normal(size=(50, 7)), 20), rng.normal(size=7)
    whole = drawn.adjusted(estimates)
    monkeypatch.setattr("headatlas.statistics.drawn.AT_ONCE", 3)
    np.testing.assert_array_equal(drawn.adjusted(estimates), whole)


def test_what_never_varies_and_what_was_never_drawn():
    replicates = np.array([[1.0, 1.0, np.nan], [1.0, 1.0, np.nan]])
    drawn = Drawn.over(replicates, 9)
    np.testing.assert_array_equal(drawn.p_values(np.array([0.0, 1.0, 1.0])), [1, 0, np.nan])
    adjusted = drawn.adjusted(np.array([0.0, 1.0, 1.0]))
    assert adjusted[0] == 1
    assert adjusted[1] == pytest.approx(1 / 3)
    assert math.isnan(adjusted[2])
    low, high = drawn.minus(drawn, paired=False).interval()
    np.testing.assert_array_equal(low, [0, 0, np.nan])
    np.testing.assert_array_equal(high, [0, 0, np.nan])


def half_of_a_corpus(rng, documents, cells, by):
    """Means of correlated cells over segments whose documents differ, with bootstrap values over units of a kind."""
    sizes = 1 + rng.geometric(0.4, documents)
    document = np.repeat(np.arange(documents), sizes)
    values = 0.5 * rng.normal(size=(documents, cells))[document] + rng.normal(size=(len(document), cells))
    values += rng.normal(size=(len(document), 1))
    names = [f"0.{number}" for number in document] if by == "document" else [f"0.{n}" for n in range(len(document))]
    weights = poisson_weights(names, REPLICATES, 0).T.astype(float)
    drawn = weights @ values / weights.sum(1, keepdims=True)
    return values.mean(0), Drawn.over(drawn, len(set(names)))


def test_two_halves_of_one_corpus_differ_no_more_often_than_stated():
    """30 documents a half, correlation within documents .1: of segments resampled one by one, far more differ."""
    rng = np.random.default_rng(5)
    outside = {"document": [], "segment": []}
    named = []
    for _ in range(100):
        for by, misses in outside.items():
            (a, drawn_a), (b, drawn_b) = (half_of_a_corpus(rng, 30, 40, by) for _ in range(2))
            drawn = drawn_b.minus(drawn_a, paired=False)
            low, high = drawn.interval()
            misses.append(np.mean((low > 0) | (high < 0)))
            if by == "document":
                named.append((drawn.adjusted(b - a) < 0.05).any())
    assert 0.025 < np.mean(outside["document"]) < 0.065
    assert np.mean(outside["segment"]) > 0.075
    assert np.mean(named) <= 0.12  # 5 % stated, of 100 draws
