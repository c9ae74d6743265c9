"""A tally against explicit sums over instances, and what its scores say against their definitions."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.statistics.resampling import fold_of, poisson_weights, signs
from headatlas.statistics.scores import Scores
from headatlas.statistics.tally import Tally
from intervals import expected_interval, units_like

CANDIDATES, BASELINES, CATEGORIES = 4, 2, 3
SEED, REPLICATES, PERMUTATIONS = 5, 30, 20


def empty(**changes):
    settings_ = {"seed": SEED, "replicates": REPLICATES, "permutations": PERMUTATIONS} | changes
    return Tally(CANDIDATES, BASELINES, CATEGORIES, **settings_)


def random_units(count, seed=0, odds=None):
    """Units as (id, document, category [n], right [n, C], baselines right [n, K])."""
    rng = np.random.default_rng(seed)
    odds = np.linspace(0.3, 0.7, CANDIDATES + BASELINES) if odds is None else np.asarray(odds)
    units = []
    for number in range(count):
        size = rng.integers(0, 6)
        right = rng.random((size, CANDIDATES + BASELINES)) < odds
        category = rng.integers(0, CATEGORIES, size)
        document = f"0.{number // 3}"
        units.append((f"{document}.{number}", document, category, right[:, :CANDIDATES], right[:, CANDIDATES:]))
    return units


def add(tally, units):
    """One call with all instances of the units."""
    ids, documents, categories, right, baselines = zip(*units, strict=True)
    tally.add(
        torch.from_numpy(np.concatenate(right)),
        torch.from_numpy(np.concatenate(baselines)),
        np.concatenate(categories),
        np.repeat(np.arange(len(units)), [len(category) for category in categories]),
        ids,
        documents,
    )
    return tally


def by_hand(units):
    """The sums of every category, instance by instance."""
    sums = np.zeros((CATEGORIES, 2 + REPLICATES + PERMUTATIONS, CANDIDATES + BASELINES + 1), dtype=np.int64)
    for name, document, categories, right, baselines in units:
        fold = fold_of(document, SEED)
        bootstrap = poisson_weights([name], REPLICATES, SEED)[0].tolist()
        flips = signs([document], PERMUTATIONS, SEED)[0].tolist()
        weights = [int(fold == 0), int(fold == 1), *bootstrap, *flips]
        for category, one, two in zip(categories, right, baselines, strict=True):
            for row, weight in enumerate(weights):
                sums[category, row] += weight * np.array([*one, *two, 1], dtype=np.int64)
    return sums


def found(tally):
    state = tally.state()
    return np.stack([state[str(number)] for number in range(CATEGORIES)])


def test_sums_are_those_of_the_loop():
    units = random_units(40)
    np.testing.assert_array_equal(found(add(empty(), units)), by_hand(units))


def test_sums_are_taken_whenever_enough_instances_wait(monkeypatch):
    monkeypatch.setattr("headatlas.statistics.tally.SETTLED_AT_ONCE", 7)
    units = [unit for unit in random_units(20) if len(unit[2])]
    tally = empty()
    for unit in units:
        add(tally, [unit])
    assert tally.counts() == [sum(int(np.sum(unit[2] == number)) for unit in units) for number in range(CATEGORIES)]
    np.testing.assert_array_equal(found(tally), by_hand(units))


@pytest.mark.parametrize(("times", "width"), [(1, np.int8), (60, np.int16), (12_000, np.int32)])
def test_sums_are_as_wide_as_they_need_to_be_and_exact(times, width):
    """A category that has not occurred takes the least; merged with itself, sums grow out of their type."""
    units = [unit for unit in random_units(9) if len(unit[2])]
    only_first = [(name, document, 0 * category, *right) for name, document, category, *right in units]
    once, many = add(empty(), only_first), empty()
    for _ in range(times):
        many.merge(once)
    state = many.state()
    assert [state[str(number)].dtype for number in range(CATEGORIES)] == [width, np.int8, np.int8]
    np.testing.assert_array_equal(found(many).astype(np.int64), times * by_hand(only_first))


def test_columns_are_added_some_at_a_time(monkeypatch):
    units = random_units(40)
    for columns in range(1, 9):
        monkeypatch.setattr("headatlas.statistics.tally.COLUMNS_AT_ONCE", columns)
        np.testing.assert_array_equal(found(add(empty(), units)), by_hand(units))


def test_intervals_and_tests_take_some_candidates_at_a_time(monkeypatch):
    scores = add(empty(), random_units(60)).scores([1])
    whole = scores.intervals, scores.lead_test(0)
    for candidates in (1, 3):
        monkeypatch.setattr("headatlas.statistics.scores.AT_ONCE", candidates)
        again = add(empty(), random_units(60)).scores([1])
        np.testing.assert_array_equal(again.intervals, whole[0])
        assert again.lead_test(0)[0] == whole[1][0]
        np.testing.assert_array_equal(again.lead_test(0)[1], whole[1][1])


@given(st.integers(2, 12), st.integers(0, 3), st.randoms(), st.data())
@settings(max_examples=30)
def test_batches_order_merging_and_resuming_change_nothing(count, seed, rng, data):
    units = [unit for unit in random_units(count, seed) if len(unit[2])]
    if len(units) < 2:
        return
    whole = found(add(empty(), units))
    shuffled = rng.sample(units, len(units))
    cut = data.draw(st.integers(1, len(units) - 1))
    one, other = add(empty(), shuffled[:cut]), add(empty(), shuffled[cut:])
    one.merge(other)
    np.testing.assert_array_equal(found(one), whole)
    resumed = empty()
    resumed.restore(add(empty(), shuffled[:cut]).state())
    np.testing.assert_array_equal(found(add(resumed, shuffled[cut:])), whole)


def test_a_unit_may_come_in_parts():
    """As a document does that is read in several windows."""
    [unit] = [unit for unit in random_units(20) if len(unit[2]) == 5][:1]
    name, document, category, right, baselines = unit
    parts = [(name, document, category[rows], right[rows], baselines[rows]) for rows in (slice(2), slice(2, None))]
    tally = empty()
    for part in parts:
        add(tally, [part])
    np.testing.assert_array_equal(found(tally), found(add(empty(), [unit])))


def test_a_restored_state_is_not_shared():
    tally = add(empty(), random_units(5))
    other = empty()
    other.restore(tally.state())
    before = found(other).copy()
    add(tally, random_units(5))
    np.testing.assert_array_equal(found(other), before)


def test_too_many_instances_for_exact_sums_are_refused(monkeypatch):
    monkeypatch.setattr("headatlas.statistics.tally._EXACT", 100)
    with pytest.raises(ValueError, match="smaller batches"):
        add(empty(), random_units(40))


def test_pooled_categories_are_added():
    units = random_units(30)
    tally = add(empty(), units)
    pooled = tally.scores([0, 2])
    rows = [np.isin(unit[2], [0, 2]) for unit in units]
    assert pooled.count == sum(map(np.sum, rows))
    np.testing.assert_array_equal(pooled.right, sum(unit[3][row].sum(0) for unit, row in zip(units, rows, strict=True)))


def test_the_best_is_cross_fitted_over_documents():
    units = random_units(60)
    scores = add(empty(), units).scores(range(CATEGORIES))
    halves = defaultdict(list)
    for _, document, _, right, baselines in units:
        halves[fold_of(document, SEED)].append(np.concatenate([right, baselines], 1))
    one, other = (np.concatenate(halves[fold]) for fold in (0, 1))
    for columns, value in (
        (slice(CANDIDATES), scores.held_out()),
        (slice(CANDIDATES, None), scores.baseline_held_out()),
    ):
        chosen = [half[:, columns].sum(0).argmax() for half in (one, other)]
        right = other[:, columns][:, chosen[0]].sum() + one[:, columns][:, chosen[1]].sum()
        assert value == right / (len(one) + len(other))


def test_nothing_is_held_out_of_a_single_document():
    units = [(name, "0.0", *rest) for name, _, *rest in random_units(9)]
    assert math.isnan(add(empty(), units).scores([0]).held_out())


def test_intervals_are_percentiles_of_replicates():
    units = random_units(12)
    scores = add(empty(), units).scores([1])
    values, counts = [], []
    for replicate in range(REPLICATES):
        right, count = np.zeros(CANDIDATES), 0
        for name, _, category, unit_right, _ in units:
            weight = int(poisson_weights([name], REPLICATES, SEED)[0, replicate])
            right += weight * unit_right[category == 1].sum(0)
            count += weight * np.sum(category == 1)
        counts.append(count)
        added = [
            [int(poisson_weights([f"{outcome} {number}"], REPLICATES, 0)[0, replicate]) for number in range(2)]
            for outcome in ("right", "wrong")
        ]
        if count:
            values.append((right + sum(added[0])) / (count + sum(added[0]) + sum(added[1])))
    np.testing.assert_allclose(scores.intervals, expected_interval(values, units_like(counts)))


@pytest.mark.parametrize("share", [0.03, 0.97])
def test_an_accuracy_near_its_bounds_has_an_interval(share):
    """20 instances in 20 units: in half of the samples all are right, or all wrong, in every resample too."""
    covered = []
    for trial in range(60):
        rng = np.random.default_rng(trial)
        right = rng.random((20, CANDIDATES)) < share
        units = [
            (f"{trial} {n}", f"{n}", np.zeros(1, dtype=int), right[[n]], np.ones((1, BASELINES), bool))
            for n in range(20)
        ]
        low, high = add(empty(replicates=300), units).scores([0]).intervals
        covered += ((low <= share) & (share <= high)).tolist()
        assert (low <= right.mean(0)).all()
        assert (right.mean(0) <= high).all()
    assert np.mean(covered) > 0.92


def test_an_interval_covers_the_truth_about_as_often_as_it_says():
    covered = 0
    for trial in range(100):
        units = [(f"{trial} {name}", *rest) for name, *rest in random_units(80, seed=trial, odds=[0.6] * 6)]
        low, high = add(empty(replicates=200, permutations=0), units).scores(range(CATEGORIES)).intervals
        covered += low[0] <= 0.6 <= high[0]
    assert 86 <= covered <= 100


def test_the_p_value_follows_its_definition():
    units = random_units(50)
    scores = add(empty(), units).scores(range(CATEGORIES))
    leads = np.array([right.sum(0) - baselines[:, [scores.best_baseline]].sum(0) for *_, right, baselines in units])
    flips = signs([unit[0] for unit in units], PERMUTATIONS, SEED).astype(int)
    statistics = np.array([leads.sum(0), *(flips.T @ leads)], dtype=float)  # the observed one first
    statistics /= np.sqrt((statistics**2).mean(0))
    observed = statistics[0, scores.best]
    larger = sum(max(row) >= observed for row in statistics[1:])
    assert scores.p_value() == (1 + larger) / (1 + PERMUTATIONS)
    assert scores.p_value(scores.best_baseline) == scores.p_value()


def test_p_values_under_the_null_are_seldom_small_and_a_real_lead_is_found():
    small = found_lead = 0
    for trial in range(60):
        for odds, lead in (([0.5] * 6, False), ([0.1, 0.8, 0.1, 0.1, 0.6, 0.5], True)):
            units = [(f"{trial} {name}", *rest) for name, *rest in random_units(80, seed=trial, odds=odds)]
            p = add(empty(replicates=0, permutations=99), units).scores(range(CATEGORIES)).p_value()
            small += p <= 0.1 and not lead
            found_lead += p <= 0.05 and lead
    assert small <= 12
    assert found_lead >= 55


def test_a_candidate_right_exactly_when_the_baseline_is_has_no_lead():
    units = [(*unit[:3], unit[4][:, [1, 1, 1, 1]], unit[4][:, [1, 1]]) for unit in random_units(20)]
    assert add(empty(), units).scores([0]).p_value() == 1


def test_ties_go_to_the_first():
    sums = np.array([[1, 3, 3, 2, 2, 9], [0, 0, 0, 0, 0, 0]])
    scores = Scores(sums, sums[:0], sums[:0], candidates=3)
    assert (scores.best, scores.best_baseline) == (1, 0)


def test_without_resampling_there_are_no_intervals_and_tests():
    scores = add(empty(replicates=0, permutations=0), random_units(9)).scores([0])
    assert np.isnan(scores.intervals).all()
    assert np.isnan(scores.baseline_intervals).all()
    assert math.isnan(scores.p_value())


def test_a_category_that_does_not_occur():
    scores = empty().scores([0])
    assert scores.count == 0
    assert math.isnan(scores.accuracy(0))
    assert math.isnan(scores.p_value())
    assert np.isnan(scores.intervals).all()
