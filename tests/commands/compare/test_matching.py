"""Heads matched: the assignment against all permutations, and the tables made of it."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headatlas.commands.compare.matching import (
    Crossing,
    assign,
    behaviour_match_table,
    cross_distance_table,
    head_match_table,
    match_summary,
)
from headatlas.models.stacks import HeadShape
from headatlas.results.tables import TABLES


def cheapest(distances):
    """The least sum of distances over all one-to-one choices, by trying them all."""
    if len(distances) > len(distances[0]):
        return cheapest(np.transpose(distances))
    return min(
        sum(distances[row][column] for row, column in enumerate(choice))
        for choice in permutations(range(len(distances[0])), len(distances))
    )


@settings(max_examples=60)
@given(
    st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
        lambda shape: arrays(float, shape, elements=st.floats(0, 0.7))
    )
)
def test_no_other_assignment_is_cheaper(distances):
    matched = assign(distances)
    assert len(matched) == min(distances.shape) == len(set(matched.values()))
    total = sum(distances[row, column] for row, column in matched.items())
    assert total == pytest.approx(cheapest(distances.tolist()))


def test_what_has_no_distance_stays_unmatched():
    distances = np.array([[np.nan, 0.1, 0.2], [np.nan, 0.3, np.nan], [np.nan, np.nan, np.nan]])
    assert assign(distances) == {0: 2, 1: 1}


def crossing_of(rows, a, b):
    crossing = Crossing(HeadShape(a), HeadShape(b))
    crossing.add(rows)
    return crossing


def random_rows(heads, seed=0, tokens=5):
    return torch.softmax(3 * torch.randn(tokens, heads, tokens, generator=torch.Generator().manual_seed(seed)), -1)


def test_heads_in_another_order_are_found_again():
    rows = random_rows(4)
    order = [2, 0, 3, 1]
    crossing = crossing_of(torch.cat([rows, rows[:, order]], 1), (2, 2), (2, 2))
    matches = TABLES["head_matches"].conform(head_match_table(crossing))
    places = [(1, 1), (1, 2), (2, 1), (2, 2)]
    expected = {places[head]: places[place] for place, head in enumerate(order)}
    found = {(row.layer_a, row.head_a): (row.layer_b, row.head_b) for row in matches.itertuples()}
    assert found == expected
    assert matches["distance"].max() < 1e-6
    assert not matches["place_kept"].any()
    assert (matches["own"] > 1e-3).all()
    assert (matches[["layer_b", "head_b"]].to_numpy() == matches[["nearest_layer", "nearest_head"]].to_numpy()).all()
    summary = TABLES["match_summary"].conform(match_summary(matches, crossing, 1.0)).set_index("measure")["value"]
    assert summary["place_kept"] == 0
    assert summary["layer_kept"] == 2  # heads 1-1 and 2-2 moved within their layers
    assert summary["layer_kept_by_chance"] == 2
    assert summary["within_a_distance"] == pytest.approx(summary["within_b_distance"])


@pytest.mark.parametrize(("a", "b"), [((2,), (3, 1)), ((3, 1), (2,))])
def test_heads_left_over_are_listed(a, b):
    crossing = crossing_of(random_rows(sum(a) + sum(b)), a, b)
    matches = TABLES["head_matches"].conform(head_match_table(crossing))
    assert len(matches) == 4
    assert matches[["layer_a", "layer_b"]].notna().all(axis=1).sum() == 2
    assert matches["own"].isna().all()
    assert matches["place_kept"].isna().all()
    assert (matches["count"] == matches["distance"].notna()).all()
    summary = match_summary(matches, crossing, 1.0)
    assert "place_kept" not in set(summary["measure"])


def test_all_pairs_are_in_the_table():
    crossing = crossing_of(random_rows(6), (1, 1), (3, 1))
    table = TABLES["cross_distances"].conform(cross_distance_table(crossing))
    assert len(table) == 2 * 4
    row = table[(table["layer_a"] == 2) & (table["layer_b"] == 1) & (table["head_b"] == 3)]
    assert row["value"].item() == crossing.across[1, 2]


def behaviours(*rows):
    return pd.DataFrame(rows, columns=["layer", "head", "label", "strength"])


def test_behaviours_are_matched_by_strength_or_by_distance():
    a = behaviours((1, 1, "[SEP]", 0.7), (1, 2, "[SEP]", 0.9), (2, 1, "broad", 0.8))
    b = behaviours((1, 1, "[SEP]", 0.8), (2, 2, "det", 0.6))
    table = TABLES["behaviour_matches"].conform(behaviour_match_table(a, b, {}))
    assert table["label"].tolist() == ["[SEP]", "[SEP]", "broad", "det"]
    assert table.loc[0, ["layer_a", "head_a", "layer_b", "head_b"]].tolist() == [1, 2, 1, 1]
    assert table["layer_b"].isna().tolist() == [False, True, True, False]
    assert table["layer_a"].isna().tolist() == [False, False, False, True]
    assert table["distance"].isna().all()
    near = {((1, 1), (1, 1)): 0.1, ((1, 2), (1, 1)): 0.6}
    by_distance = behaviour_match_table(a, b, near)
    matched = by_distance.dropna(subset=["layer_a", "layer_b"])
    assert matched[["layer_a", "head_a", "strength_b", "distance"]].to_numpy().tolist() == [[1, 1, 0.8, 0.1]]


def test_atlases_without_labels_have_an_empty_table():
    assert len(TABLES["behaviour_matches"].conform(behaviour_match_table(behaviours(), behaviours(), {}))) == 0
