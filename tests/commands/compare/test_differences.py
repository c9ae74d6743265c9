"""Differences and their intervals against plain loops, and their symmetries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headatlas.commands.compare.differences import (
    Side,
    difference_interval,
    difference_table,
    group_means,
    rows_in_one_only,
)
from headatlas.results.tables import TABLES

REPLICATES = 21
FINITE = st.floats(-10, 10, allow_nan=False)


def positions(heads, seed, offsets=(-1, 1)):
    """A table of that name and its replicates."""
    random = np.random.default_rng(seed)
    rows = [
        (layer, head, offset)
        for layer, number in enumerate(heads, 1)
        for head in range(1, number + 1)
        for offset in offsets
    ]
    frame = pd.DataFrame(rows, columns=["layer", "head", "offset"])
    frame = frame.assign(value=random.uniform(size=len(rows)), low=0.0, high=1.0, count=7 + seed)
    return Side({"positions": frame}, {"positions": random.uniform(size=(REPLICATES, len(rows)))}, tuple(heads))


def oracle_interval(drawn_a, drawn_b, paired):
    """The 2.5 and 97.5 percentiles, by linear interpolation, of one list of replicates."""
    if not paired:
        drawn_b = list(reversed(drawn_b))
    ordered = sorted(b - a for a, b in zip(drawn_a, drawn_b, strict=True))
    ends = []
    for share in (0.025, 0.975):
        place = share * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        ends.append(ordered[below] + (place - below) * (ordered[above] - ordered[below]))
    return ends


@settings(max_examples=40)
@given(arrays(float, (9, 2), elements=FINITE), arrays(float, (9, 2), elements=FINITE), st.booleans())
def test_the_interval_is_that_of_the_loop(a, b, paired):
    low, high = difference_interval(a, b, paired)
    for column in range(2):
        expected = oracle_interval(a[:, column].tolist(), b[:, column].tolist(), paired)
        assert [low[column], high[column]] == pytest.approx(expected)


@settings(max_examples=40)
@given(arrays(float, (8, 3), elements=FINITE), arrays(float, (8, 3), elements=FINITE), st.booleans())
def test_turned_round_the_interval_is_its_mirror(a, b, paired):
    low, high = difference_interval(a, b, paired)
    turned_low, turned_high = difference_interval(b, a, paired)
    np.testing.assert_allclose(turned_low, -high, atol=1e-12)
    np.testing.assert_allclose(turned_high, -low, atol=1e-12)


def test_more_replicates_of_one_side_are_passed_over():
    random = np.random.default_rng(0)
    a, b = random.uniform(size=(30, 2)), random.uniform(size=(20, 2))
    np.testing.assert_array_equal(difference_interval(a, b, True), difference_interval(a[:20], b, True))


def test_pairing_takes_out_what_both_have_in_common():
    random = np.random.default_rng(0)
    common = random.normal(size=(1000, 1))
    a, b = common + 0.01 * random.normal(size=(1000, 1)), common + 0.01 * random.normal(size=(1000, 1))
    paired, unpaired = (np.diff(difference_interval(a, b, paired), axis=0).item() for paired in (True, False))
    assert paired < 0.1 * unpaired
    assert unpaired == pytest.approx(2 * 1.96 * np.sqrt(2), rel=0.1)


def test_every_row_is_that_of_the_loop():
    heads = (2, 3)
    a, b = positions(heads, 0), positions(heads, 1)
    table = difference_table(a, b, {"positions": True})
    assert len(table) == 2 * (5 + 2 + 1)
    for row in table.itertuples():
        values, drawn, counts = [], [], []
        for side in (a, b):
            frame = side.tables["positions"]
            chosen = [
                number
                for number, one in enumerate(frame.itertuples())
                if row.measure == f"offset={one.offset}"
                and (row.scope == "model" or one.layer == row.layer_a)
                and (row.scope != "head" or one.head == row.head_a)
            ]
            values.append(sum(frame["value"].iloc[number] for number in chosen) / len(chosen))
            replicates = side.replicates["positions"]
            drawn.append([sum(one[number] for number in chosen) / len(chosen) for one in replicates])
            counts.append(frame["count"].iloc[0])
        assert [row.value_a, row.value_b] == pytest.approx(values)
        assert row.difference == pytest.approx(values[1] - values[0])
        assert [row.low, row.high] == pytest.approx(oracle_interval(*drawn, True))
        assert [row.low_a, row.high_a] == pytest.approx(oracle_interval([0] * REPLICATES, drawn[0], True))
        assert [row.low_b, row.high_b] == pytest.approx(oracle_interval([0] * REPLICATES, drawn[1], True))
        assert (row.count_a, row.count_b) == tuple(counts)
        assert row.paired is True or row.paired == np.True_


def test_of_other_shapes_only_what_means_the_same_is_compared():
    scopes = [
        set(difference_table(positions((2, 3), 0), positions(heads, 1), {"positions": False})["scope"])
        for heads in ((2, 3), (3, 3), (2, 3, 1))
    ]
    assert scopes == [{"head", "layer", "model"}, {"layer", "model"}, {"model"}]


def test_without_replicates_there_is_no_interval():
    a, b = positions((2,), 0), positions((2,), 1)
    table = difference_table(Side(a.tables, {}, a.heads), b, {"positions": True})
    assert table[["low", "high", "low_a", "paired"]].isna().all(axis=None)
    assert table["low_b"].notna().all()
    assert TABLES["differences"].conform(table)["paired"].isna().all()


def test_only_the_first_value_column_has_replicates():
    frame = pd.DataFrame({"layer": [1], "head": [1], "value": [0.5], "highest": [0.9], "count": [3]})
    side = Side({"max_attention": frame}, {"max_attention": np.full((5, 1), 0.5)}, (1,))
    table = difference_table(side, side, {"max_attention": True}).set_index(["column", "scope"])
    assert table.loc[("value", "head"), "low"] == 0
    assert np.isnan(table.loc[("highest", "head"), "low"])


def test_best_heads_are_compared_by_what_they_are_best_at():
    def side(rows):
        frame = pd.DataFrame(rows, columns=["relation", "layer", "head", "accuracy", "held_out", "count"])
        return Side({"dependency_best": frame.assign(baseline=0.6)}, {}, (4, 4))

    a = side([("det", 1, 2, 0.5, 0.4, 10), ("amod", 1, 1, 0.3, 0.2, 5)])
    b = side([("nsubj", 2, 2, 0.9, 0.9, 8), ("det", 2, 3, 0.75, 0.7, 9)])
    table = difference_table(a, b, {"dependency_best": True})
    row = table[table["column"] == "accuracy"].iloc[0]
    assert (row["measure"], row["scope"], row["difference"]) == ("relation=det", "best", 0.25)
    assert (row["layer_a"], row["head_a"], row["layer_b"], row["head_b"]) == (1, 2, 2, 3)
    assert len(table) == 3
    lead = table[table["column"] == "lead"].iloc[0]  # A's head is worse than a fixed offset: no lead
    assert lead[["value_a", "value_b", "difference"]].tolist() == pytest.approx([0, 0.15, 0.15])
    assert rows_in_one_only(a, b, "dependency_best") == {"a": 1, "b": 1}


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), max_size=5))
def test_means_of_groups(groups):
    values = np.random.default_rng(0).uniform(size=(3, 6))
    means = group_means(values, groups)
    assert means.shape == (3, len(groups))
    for number, rows in enumerate(groups):
        for replicate in range(3):
            expected = sum(values[replicate, row] for row in rows) / len(rows)
            assert means[replicate, number] == pytest.approx(expected)
