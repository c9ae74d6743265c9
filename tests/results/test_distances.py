"""The table of pairs as a matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd

from headatlas.results.tables import distance_matrix

COLUMNS = ["layer_a", "head_a", "layer_b", "head_b", "value", "count"]


def test_every_pair_in_both_directions_whatever_the_order_of_rows():
    table = pd.DataFrame(
        [(1, 2, 10, 1, 0.3, 5), (1, 1, 1, 2, 0.1, 5), (1, 1, 10, 1, np.nan, 0)],
        columns=COLUMNS,
    )
    heads, matrix = distance_matrix(table)
    assert heads == [(1, 1), (1, 2), (10, 1)]
    np.testing.assert_array_equal(matrix, [[0, 0.1, np.nan], [0.1, 0, 0.3], [np.nan, 0.3, 0]])


def test_no_pairs():
    heads, matrix = distance_matrix(pd.DataFrame(columns=COLUMNS))
    assert heads == []
    assert matrix.shape == (0, 0)
