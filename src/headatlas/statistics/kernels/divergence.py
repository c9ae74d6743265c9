"""The CPU kernel of `divergence_sums`: for a row, all heads' weights wait in the cache while every pair is compared.

Threads take one block of rows after another, so that a slow one holds nobody up. A row of each head is scaled to sum
1/2, so that a pair costs one logarithm per column: with m = p/2 + q/2 and M(p, q) the sum of m log m,

    JS = (M(p, p) + M(q, q)) / 2 - M(p, q).

The difference of float32 sums is good to some 1e-7 nats per row, so a sum over a segment's rows is good to 1e-5 nats.

Heads are compared a tile with a tile, so that more of them than the cache holds still come from it. Columns that no
head attends to, such as those ahead in a causal model, are not visited.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import torch
from numba import njit
from torch import Tensor

from headatlas.statistics.kernels import Doubles, Floats
from headatlas.statistics.kernels.fast_log import REORDER, fast_log2

ROWS_AT_ONCE = 16
SMALL = 100_000  # comparisons of two numbers; less work than this is not worth a second thread
TILE_NUMBERS = 32_768  # of a tile's rows: two tiles fill half of a cache of 512 KB
LANES = 8  # columns compared at a time; the last ones are filled up with zeros
_LOG2 = np.log(2.0)
_ONE = np.float32(1.0)
_ZERO = np.float32(0.0)


def divergence_sums_cpu(rows: Tensor, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """The sums [H, H] and masses [H, Q] of `divergence_sums`, float64. rows: [Q, H, K] on the CPU, any float type."""
    maps = rows.detach().to(torch.float32).contiguous().numpy()
    tokens, heads, columns = maps.shape
    mass = np.zeros((tokens, heads))
    tile = max(1, TILE_NUMBERS // columns)
    blocks = iter([slice(first, first + ROWS_AT_ONCE) for first in range(0, tokens, ROWS_AT_ONCE)])
    threads = torch.get_num_threads() if heads * maps.size >= 2 * SMALL else 1
    sums = np.zeros((threads, heads, heads))

    def work(thread: int) -> None:
        for block in blocks:
            _some_rows(maps[block], np.float32(smoothing), tile, sums[thread], mass[block])

    if threads == 1:
        work(0)
    else:
        list(_pool(threads).map(work, range(threads)))
    return torch.from_numpy(sums.sum(0)), torch.from_numpy(mass.T)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that wait for the next segment."""
    return ThreadPoolExecutor(threads, thread_name_prefix="headatlas-divergence")


@njit(cache=True, fastmath=REORDER)  # type: ignore[untyped-decorator]
def _prepare(row: Floats, smoothing: np.float32, mass: Doubles, halves: Floats) -> int:
    """Fill p/2 of one row of each head, and its mass. The number of columns."""
    heads, n = row.shape
    keep, add = _ONE - smoothing, np.float32(smoothing / n)
    width = 0
    for head in range(heads):
        total = 0.0
        for j in range(n):
            total += keep * row[head, j] + add
        mass[head] = total
        scale = np.float32(0.5 / total) if total > 0 else _ZERO
        for j in range(n):
            halves[head, j] = scale * (keep * row[head, j] + add)
        last = n
        while last > width and halves[head, last - 1] == 0:
            last -= 1
        width = max(width, last)
    return -(-width // LANES) * LANES


@njit(cache=True, fastmath=REORDER)  # type: ignore[untyped-decorator]
def _mix(halves: Floats, a: int, first: int, end: int, width: int, mixed: Floats) -> None:
    """Fill the sums of m log2 m of head a with those from `first` to `end`: the loop that takes the time."""
    for b in range(first, end):
        total = _ZERO
        for j in range(width):
            m = halves[a, j] + halves[b, j]
            total += m * fast_log2(m)
        mixed[b] = total


@njit(cache=True)  # type: ignore[untyped-decorator]
def _all_pairs(
    halves: Floats, mass: Doubles, width: int, tile: int, alone: Floats, mixed: Floats, sums: Doubles
) -> None:
    """Add the divergence of every pair of heads that both have mass, above the diagonal."""
    heads = len(mass)
    for head in range(heads):
        _mix(halves, head, head, head + 1, width, alone)
    for first_a in range(0, heads, tile):
        for first_b in range(first_a, heads, tile):
            end = min(first_b + tile, heads)
            for a in range(first_a, min(first_a + tile, heads)):
                if not mass[a] > 0:
                    continue
                first = max(a + 1, first_b)
                _mix(halves, a, first, end, width, mixed)
                for b in range(first, end):
                    if mass[b] > 0:
                        bits = (float(alone[a]) + float(alone[b])) / 2 - float(mixed[b])
                        sums[a, b] += _LOG2 * max(bits, 0.0)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _some_rows(maps: Floats, smoothing: np.float32, tile: int, sums: Doubles, mass: Doubles) -> None:
    tokens, heads, columns = maps.shape
    halves = np.zeros((heads, -(-columns // LANES) * LANES), dtype=np.float32)
    alone, mixed = np.zeros(heads, dtype=np.float32), np.zeros(heads, dtype=np.float32)
    for i in range(tokens):
        width = _prepare(maps[i], smoothing, mass[i], halves)
        _all_pairs(halves, mass[i], width, tile, alone, mixed, sums)
