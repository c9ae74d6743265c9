"""Paired changes against loops over the same weights, and how often they are significant by chance."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.calibration_paired import Setting, simulate_paired
from headatlas.statistics.paired import FEWEST_CHANGED, POOLED, bootstrap_means, holm, paired_changes
from headatlas.statistics.resampling import poisson_weights
from intervals import expected_interval

IDS = [f"0.{number}" for number in range(30)]


@pytest.fixture(scope="module")
def changes():
    rng = np.random.default_rng(0)
    found = rng.normal(size=(30, 4))
    found[:, 1] -= 1.0
    found[:, 3] = 0.0
    return found


def mean_and_error(rows):
    """The mean of drawn (change, size) pairs of units, and its standard error, 0 if nothing varies."""
    total = sum(size for _, size in rows)
    mean = sum(change for change, _ in rows) / total
    squares = sum((change - mean * size) ** 2 for change, size in rows) * len(rows) / (len(rows) - 1)
    return mean, (squares**0.5 / total if squares > 1e-18 else 0.0)


def p_values_by_loop(changes, names, seed, resamplings):
    units = sorted(set(names))
    weights = poisson_weights(units, resamplings, seed)
    columns = []
    for column in range(changes.shape[1]):
        sums = [sum(changes[row, column] for row, name in enumerate(names) if name == unit) for unit in units]
        columns.append([(change, names.count(unit)) for change, unit in zip(sums, units, strict=True)])
    tested = [column for column, rows in enumerate(columns) if sum(change != 0 for change, _ in rows) >= FEWEST_CHANGED]
    pooled = len(tested) >= 20
    middle = statistics.median(mean_and_error(columns[column])[1] for column in tested)

    def steadied(error, column):
        changed = sum(change != 0 for change, _ in columns[column])
        own = (changed - 1) / (changed - 1 + POOLED) if pooled else 1
        return (own * error**2 + (1 - own) * middle**2) ** 0.5

    largest = []
    for resample in range(resamplings):
        ts = []
        for column in tested:
            mean, _ = mean_and_error(columns[column])
            drawn = [pair for row, pair in enumerate(columns[column]) for _ in range(int(weights[row, resample]))]
            of_drawn, error = mean_and_error(drawn)
            error = steadied(error, column)
            ts.append(abs(of_drawn - mean) / error if error else float("inf"))
        largest.append(max(ts))
    p_values = []
    for column, rows in enumerate(columns):
        mean, error = mean_and_error(rows)
        as_large = (
            sum(value >= abs(mean) / steadied(error, column) for value in largest) if column in tested else resamplings
        )
        p_values.append((1 + as_large) / (1 + resamplings))
    return p_values


@pytest.mark.parametrize("names", [IDS, [f"document {number % 13}" for number in range(30)]])
def test_p_values_equal_a_loop_over_resamples(changes, names):
    expected = p_values_by_loop(changes, names, 5, 99)
    result = paired_changes(changes, IDS, seed=5, resamplings=99, units=None if names is IDS else names)
    assert result.p_value == pytest.approx(expected)
    assert result.p_value[1] == 0.01
    assert result.p_value[3] == 1.0
    assert np.isnan(result.error[3])
    assert result.mean == pytest.approx(changes.mean(0))


def test_units_of_different_sizes_equal_the_loop(changes):
    names = ["long"] * 8 + IDS[8:]
    result = paired_changes(changes, IDS, seed=2, resamplings=60, units=names)
    assert result.p_value == pytest.approx(p_values_by_loop(changes, names, 2, 60))
    assert result.mean == pytest.approx(changes.mean(0))


@pytest.mark.parametrize("conditions", [19, 20])
def test_many_conditions_have_a_variance_in_common(conditions):
    rng = np.random.default_rng(7)
    many = (rng.normal(size=(30, conditions)) - 0.4) * (rng.random((30, conditions)) < 0.6)
    names = ["long"] * 3 + IDS[3:]
    result = paired_changes(many, IDS, seed=4, resamplings=60, units=names)
    assert result.p_value == pytest.approx(p_values_by_loop(many, names, 4, 60))
    assert len(set(result.p_value)) > 3


def test_conditions_with_few_changes_do_not_hide_others(monkeypatch):
    """A resample in which their changes hardly vary would have the largest t of all."""
    rng = np.random.default_rng(8)
    many = rng.normal(size=(30, 40))
    many[FEWEST_CHANGED:, 1:] = 0.0
    many[:, 0] -= 1.0
    pooled = paired_changes(many, IDS, seed=0, resamplings=499)
    monkeypatch.setattr("headatlas.statistics.paired.FEWEST_POOLED", 100)
    alone = paired_changes(many, IDS, seed=0, resamplings=499)
    assert pooled.findable(0.01) < 0.5 * alone.findable(0.01)
    assert pooled.p_value[0] < 0.02 < alone.p_value[0]


def test_a_condition_that_changes_few_units_is_not_tested_and_does_not_hide_others(changes):
    sparse = np.zeros((30, 1))
    sparse[: FEWEST_CHANGED - 1] = -1.0
    alone = paired_changes(changes, IDS, seed=5, resamplings=99)
    beside = paired_changes(np.hstack([changes, sparse]), IDS, seed=5, resamplings=99)
    assert beside.p_value.tolist() == [*alone.p_value, 1.0]


def test_findable_is_the_change_that_would_be_significant():
    rng = np.random.default_rng(3)
    noise = rng.exponential(size=(60, 5)) - 1
    noise -= noise.mean(0)  # every mean is 0, so a shift is the mean change
    result = paired_changes(noise, IDS + [f"1.{n}" for n in range(30)], seed=1, resamplings=499)
    shift = result.findable(0.01)
    column = int(np.argsort(result.error)[2])  # of median standard error
    for change, significant in ((1.02 * shift, True), (0.98 * shift, False)):
        moved = noise.copy()
        moved[:, column] += change
        again = paired_changes(moved, IDS + [f"1.{n}" for n in range(30)], seed=1, resamplings=499)
        assert (again.p_value[column] < 0.01) == significant


@pytest.mark.parametrize(("examples", "resamplings"), [(9, 499), (30, 50)])
def test_nothing_is_findable_with_few_examples_or_resamples(changes, examples, resamplings):
    result = paired_changes(changes[:examples], IDS[:examples], seed=0, resamplings=resamplings)
    assert result.findable(0.01) == np.inf
    assert (result.p_value >= 0.01).all()


def test_changes_of_mean_zero_are_rarely_significant_however_skewed():
    settings = [Setting(name, 40, correlated=correlated) for name in ("normal", "exponential") for correlated in (0, 1)]
    settings.append(Setting("exponential", 32, conditions=48, few_changed=True))
    errors = [simulate_paired(setting, 60, resamplings=199, seed=1)[0].measured for setting in settings]
    assert max(errors) <= 0.05 + 2.6 * (0.05 * 0.95 / 60) ** 0.5, "the level and its sampling error; sign flips give .4"


def test_examples_of_a_document_are_not_taken_as_independent():
    rng = np.random.default_rng(0)
    documents = [str(number // 10) for number in range(300)]
    apart, together = [], []
    for simulation in range(30):
        changes = np.repeat(rng.normal(size=(30, 8)), 10, axis=0) + rng.normal(size=(300, 8))
        ids = [str(number) for number in range(300)]
        apart.append(paired_changes(changes, ids, seed=simulation, resamplings=199).p_value.min() <= 0.05)
        together.append(
            paired_changes(changes, ids, seed=simulation, resamplings=199, units=documents).p_value.min() <= 0.05
        )
    assert np.mean(apart) > 0.5
    assert np.mean(together) <= 0.15


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
