"""The table `head_distances` as a matrix."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def distance_matrix(head_distances: pd.DataFrame) -> tuple[list[tuple[int, int]], NDArray[np.float64]]:
    """The heads in their order, as layer and head from 1, and their distances [H, H], symmetric, 0 on the diagonal."""
    a, b = (list(zip(head_distances[f"layer_{end}"], head_distances[f"head_{end}"], strict=True)) for end in "ab")
    heads = sorted({(int(layer), int(head)) for layer, head in (*a, *b)})
    place = {head: number for number, head in enumerate(heads)}
    matrix = np.zeros((len(heads), len(heads)))
    rows, columns = ([place[head] for head in end] for end in (a, b))
    matrix[rows, columns] = matrix[columns, rows] = head_distances["value"]
    return heads, matrix
