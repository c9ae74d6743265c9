"""The CPU kernel of metric multidimensional scaling: one step of SMACOF, without a matrix of drawn distances."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from headatlas.statistics.kernels import Doubles
from headatlas.statistics.kernels.fast_log import REORDER
from headatlas.statistics.kernels.threads import numba_threads

SMALL = 100_000  # pairs; less work than this is not worth a second thread
_APART = 1e-5  # in place of a drawn distance of 0


def guttman_step(distances: Doubles, points: Doubles) -> tuple[Doubles, float, float]:
    """The points that majorisation puts in place of the given ones, [N, 2], never with more stress (de Leeuw 1977).

    Returns also, of the given points, twice the summed squares of the errors and of the drawn distances.

    distances: [N, N], symmetric.
    """
    number = len(points)
    if distances.shape != (number, number) or points.shape != (number, 2):
        raise ValueError(f"points of shape {points.shape} cannot have distances of shape {distances.shape}")
    moved, sums = np.empty((number, 2)), np.empty((number, 2))
    with numba_threads(distances.size >= SMALL):
        _step(distances, np.ascontiguousarray(points.T), moved, sums)
    error, drawn = sums.sum(0)
    return moved, float(error), float(drawn)


@njit(parallel=True, cache=True, fastmath=REORDER, error_model="numpy")  # type: ignore[untyped-decorator]
def _step(distances: Doubles, points: Doubles, moved: Doubles, sums: Doubles) -> None:
    number = len(distances)
    for i in prange(number):
        row, xs, ys = distances[i], points[0], points[1]
        x, y = xs[i], ys[i]
        to_x = to_y = error = squares = 0.0
        for j in range(number):
            across, up = x - xs[j], y - ys[j]
            square = across * across + up * up
            drawn = np.sqrt(square)
            ratio = row[j] / (drawn if drawn > 0 else _APART)
            to_x += ratio * across
            to_y += ratio * up
            error += (drawn - row[j]) ** 2
            squares += square
        moved[i, 0], moved[i, 1] = to_x / number, to_y / number
        sums[i, 0], sums[i, 1] = error, squares
