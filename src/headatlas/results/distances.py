"""The table of the distances between all pairs of heads, as a matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_LAYER = 1 << 32  # what a layer counts in the number that stands for a head


def distance_matrix(head_distances: pd.DataFrame) -> tuple[list[tuple[int, int]], NDArray[np.float64]]:
    """The heads in their order, as layer and head from 1, and their distances [H, H], symmetric, 0 on the diagonal.

    Args:
        head_distances: The table, its rows in any order. 5,120 heads have 13 million of them.
    """
    ends = [
        head_distances[f"layer_{end}"].to_numpy(np.int64) * _LAYER + head_distances[f"head_{end}"].to_numpy(np.int64)
        for end in "ab"
    ]
    heads = np.unique(np.concatenate([np.unique(end) for end in ends]))
    rows, columns = (np.searchsorted(heads, end) for end in ends)
    matrix = np.zeros((len(heads), len(heads)))
    matrix[rows, columns] = matrix[columns, rows] = head_distances["value"].to_numpy(np.float64)
    layers, numbers = np.divmod(heads, _LAYER)
    return list(zip(layers.tolist(), numbers.tolist(), strict=True)), matrix
