"""The CPU kernel of a permutation test on distances: sums between groups, in many assignments of things to groups."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from headatlas.statistics.kernels import Doubles, Integers
from headatlas.statistics.kernels.threads import numba_threads

SMALL = 1_000_000  # additions; less work than this is not worth a second thread
COLUMNS_AT_ONCE = 16  # of 5,120 rows: they stay in the cache while many assignments are summed
ASSIGNMENTS_AT_ONCE = 64


def group_sums(distances: Doubles, assignments: Integers, groups: int) -> Doubles:
    """Sums of distances [N, N] between the things of every two groups: [P, G, G]. assignments: [P, N], below G."""
    sums = np.zeros((len(assignments), groups, groups))
    with numba_threads(distances.size * len(assignments) >= SMALL):
        _sums(distances, assignments, sums)
    return sums


@njit(parallel=True, cache=True)  # type: ignore[untyped-decorator]
def _sums(distances: Doubles, assignments: Integers, sums: Doubles) -> None:
    number, groups = len(distances), sums.shape[1]
    for chunk in prange(-(-len(assignments) // ASSIGNMENTS_AT_ONCE)):
        start = chunk * ASSIGNMENTS_AT_ONCE
        columns, of_rows = np.zeros((number, COLUMNS_AT_ONCE)), np.zeros((groups, COLUMNS_AT_ONCE))
        for first in range(0, number, COLUMNS_AT_ONCE):
            width = min(COLUMNS_AT_ONCE, number - first)
            columns[:, :width] = distances[:, first : first + width]
            for which in range(start, min(start + ASSIGNMENTS_AT_ONCE, len(assignments))):
                group = assignments[which]
                of_rows[:] = 0.0
                for i in range(number):
                    a = group[i]
                    for j in range(COLUMNS_AT_ONCE):
                        of_rows[a, j] += columns[i, j]
                for a in range(groups):
                    for j in range(width):
                        sums[which, a, group[first + j]] += of_rows[a, j]
