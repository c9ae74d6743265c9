"""Tables as people read them: rounding, sorting, cutting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.errors import SettingError
from headatlas.results.view import decimal, plain_view, sort_order


def frame():
    return pd.DataFrame(
        {
            "layer": [1, 1, 2, 2],
            "head": [1, 2, 1, 2],
            "kind": ["b", "a", None, "c"],
            "value": [0.25, np.nan, 0.51239, 0.000001],
        }
    )


def test_numbers_of_a_column_are_rounded_alike_and_missing_ones_are_empty():
    view = plain_view(frame(), "about")
    assert [row[3] for row in view.cells] == ["0.2500", "", "0.5124", "1.0e-06"]
    assert [row[2] for row in view.cells] == ["b", "a", "", "c"]
    assert [column.number for column in view.columns] == [True, True, False, True]
    assert (view.title, view.keys) == (("about",), 2)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([3e-4, 1e-5], ["0.0003000", "0.0000100"]),
        ([12345.6, 1.0], ["12346", "1"]),
        ([12.345, -1.0], ["12.35", "-1.00"]),
        ([0.0], ["0"]),
        ([np.inf, 1.0], ["inf", "1.000"]),
        ([], []),
    ],
)
def test_four_digits_of_the_largest(values, shown):
    view = plain_view(pd.DataFrame({"value": pd.Series(values, dtype="float64")}))
    assert [cell for (cell,) in view.cells] == shown


def test_whole_numbers_stay_whole_where_some_are_missing():
    view = plain_view(pd.DataFrame({"head": pd.array([10, None], dtype="Int64")}))
    assert tuple(view.cells) == (("10",), ("",))


@given(st.floats(-1e6, 1e6), st.integers(0, 8))
def test_no_number_but_zero_looks_like_zero(value, decimals):
    shown = float(decimal(value, decimals))
    assert (shown == 0) == (value == 0)
    assert abs(shown - value) <= max(0.51 * 10.0**-decimals, 0.06 * abs(value))


@pytest.mark.parametrize(
    ("sort", "heads"),
    [
        ("value", [2, 0, 3, 1]),
        ("-value", [3, 0, 2, 1]),
        ("kind", [1, 0, 3, 2]),
        ("-kind", [3, 0, 1, 2]),
        ("layer", [2, 3, 0, 1]),
    ],
)
def test_numbers_from_the_largest_text_from_a_missing_last(sort, heads):
    assert sort_order(frame(), sort) == heads


def test_values_and_cells_are_sorted_and_cut_together():
    view = plain_view(frame()).chosen("value", 2)
    assert view.frame["value"].tolist() == [0.51239, 0.25]
    assert [row[3] for row in view.cells] == ["0.5124", "0.2500"]
    assert view.notes == ("2 of 4 rows.",)
    assert plain_view(frame()).chosen(rows=9).notes == ()


def test_unknown_columns_and_impossible_counts_are_refused():
    with pytest.raises(SettingError, match=r"--sort worth.*layer, head, kind, value"):
        plain_view(frame()).chosen("worth")
    with pytest.raises(SettingError, match="--rows"):
        plain_view(frame()).chosen(rows=0)
