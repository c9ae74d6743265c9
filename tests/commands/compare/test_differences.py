"""Differences and their intervals against plain loops, and their symmetries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.commands.compare.differences import (
    ROUNDING,
    Side,
    difference_table,
    group_means,
    rows_in_one_only,
)
from headatlas.results.tables import TABLES
from intervals import expected_interval

REPLICATES = 21


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
        change = [after - before for before, after in zip(*drawn, strict=True)]
        assert [row.low, row.high] == pytest.approx(expected_interval(change, min(counts)))
        assert [row.low_a, row.high_a] == pytest.approx(expected_interval(drawn[0], counts[0]))
        assert [row.low_b, row.high_b] == pytest.approx(expected_interval(drawn[1], counts[1]))
        assert (row.count_a, row.count_b) == tuple(counts)
        assert row.paired is True or row.paired == np.True_


def test_units_are_those_resampled_or_fewer_where_instances_are():
    heads = (2,)
    sides = [positions(heads, seed) for seed in (0, 1)]
    few = [Side(side.tables, side.replicates, side.heads, {"text": 5}) for side in sides]
    row = difference_table(*few, {"positions": True}).iloc[0]
    drawn = few[0].replicates["positions"][:, 0]
    assert [row["low_a"], row["high_a"]] == pytest.approx(expected_interval(drawn, 5))


def test_what_rounding_leaves_is_no_difference():
    a = positions((2,), 0)
    shifted = a.tables["positions"].assign(value=a.tables["positions"]["value"] + ROUNDING / 2)
    b = Side({"positions": shifted}, {"positions": a.replicates["positions"] + ROUNDING / 2}, a.heads)
    table = difference_table(a, b, {"positions": True})
    assert (table["p_value"] == 1).all()
    assert (table["p_adjusted"] == 1).all()


def test_a_row_is_corrected_for_the_rows_of_its_scope():
    a, b = positions((3, 3), 0), positions((3, 3), 1)
    table = difference_table(a, b, {"positions": False})
    assert (table["p_adjusted"] >= table["p_value"]).all()
    alone = difference_table(positions((1,), 0, (1,)), positions((1,), 1, (1,)), {"positions": False})
    assert alone["p_adjusted"].nunique() == 1  # a head, a layer and a model of one cell are one test


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
