"""The CPU kernel of `divergence_sums`: for a row, all heads' weights wait in the cache while every pair is compared.

Threads take one block of rows after another, so that a slow one holds nobody up. A row of each head is scaled to sum
1/2, and p/2 and the sum of (p/2) log p are kept, so that a pair costs one logarithm a column: of m = p/2 + q/2, in

    JS = sum of (p/2) log p + sum of (q/2) log q - sum of m log m.

The difference of float32 sums is good to some 1e-7 nats a row, which is nothing beside most divergences. Rows closer
than CLOSE are taken by `divergence_formula`, which loses nothing where p and q are alike; for rows that are alike in
every column a short polynomial will do. Heads close in one row are most often close in the next, so what was right for
a pair is tried first.

Heads are compared a tile with a tile, so that more of them than the cache holds still come from it. Columns that no
head attends to, such as those ahead in a causal model, are not visited.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from headatlas.statistics.kernels.divergence_formula import DENOMINATOR, NUMERATOR
from headatlas.statistics.kernels.fast_log import REORDER, fast_log2

ROWS_AT_ONCE = 16
SMALL = 100_000  # comparisons of two numbers; less work than this is not worth a second thread
TILE_NUMBERS = 32_768  # of a tile's rows: two tiles fill half of a cache of 512 KB
LANES = 8  # columns are compared so many at a time, the last of them filled up with zeros
CLOSE = 0.02  # nats; from here on rounding is at most some 1e-5 of a row's divergence, and less in a sum over rows
FAR, ALIKE, UNLIKE = range(3)  # a pair's last row: not close; close, and alike in every column; close, but not so
_LOG2 = np.log(2.0)
_ONE = np.float32(1.0)
_ZERO = np.float32(0.0)
_TWO = np.float32(2.0)
_TINY = np.float32(1e-30)
_N, _D = (tuple(np.float32(c) for c in powers) for powers in (NUMERATOR, DENOMINATOR))
# g / u^2 of `divergence_formula` as a polynomial in u^2, for u^2 up to _ALIKE_SQUARE; off by 1e-6
_SERIES = tuple(np.float32(c) for c in (0.0248948408, 0.0120827549, 0.0342416393, 0.0832848288, 0.50000041))
_ALIKE_SQUARE = np.float32(0.4)


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
def _prepare(
    row: NDArray[np.float32],
    smoothing: np.float32,
    mass: NDArray[np.float64],
    halves: NDArray[np.float32],
    own: NDArray[np.float64],
) -> int:
    """Fill p/2 and the sum of (p/2) log2 p of one row of each head, and its mass. The number of columns."""
    heads, n = row.shape
    keep, add = _ONE - smoothing, np.float32(smoothing / n)
    width = 0
    for head in range(heads):
        total = 0.0
        for j in range(n):
            total += keep * row[head, j] + add
        mass[head] = total
        scale = np.float32(0.5 / total) if total > 0 else _ZERO
        logarithms = 0.0
        for j in range(n):
            half = scale * (keep * row[head, j] + add)
            halves[head, j] = half
            logarithms += half * fast_log2(half + half)
        own[head] = logarithms
        last = n
        while last > width and halves[head, last - 1] == 0:
            last -= 1
        width = max(width, last)
    return -(-width // LANES) * LANES


@njit(cache=True, fastmath=REORDER, error_model="numpy")  # type: ignore[untyped-decorator]
def _close(halves: NDArray[np.float32], a: int, b: int, width: int) -> np.float32:
    """The divergence of two rows in nats, right however alike they are; but slower than the logarithm."""
    total = _ZERO
    for j in range(width):
        p, q = halves[a, j], halves[b, j]
        over_m = _ONE / max(p + q, _TINY)
        w = _TWO * np.sqrt(p * q) * over_m
        numerator = (((_N[0] * w + _N[1]) * w + _N[2]) * w + _N[3]) * w + _N[4]
        denominator = (((_D[0] * w + _D[1]) * w + _D[2]) * w + _D[3]) * w + _D[4]
        total += (p - q) * (p - q) * over_m * numerator / denominator
    return total


@njit(cache=True, fastmath=REORDER, error_model="numpy")  # type: ignore[untyped-decorator]
def _alike(
    halves: NDArray[np.float32],
    a: int,
    first: int,
    end: int,
    width: int,
    near: NDArray[np.int8],
    found: NDArray[np.float32],
) -> None:
    """The divergence of head a, in nats, with those from `first` to `end` that were alike; -1 where a column is not."""
    for b in range(first, end):
        if near[b] == ALIKE:
            total = unlike = _ZERO
            for j in range(width):
                p, q = halves[a, j], halves[b, j]
                u = (p - q) / max(p + q, _TINY)
                square = u * u
                series = ((_SERIES[0] * square + _SERIES[1]) * square + _SERIES[2]) * square + _SERIES[3]
                total += (p - q) * u * (series * square + _SERIES[4])
                unlike += _ONE if square > _ALIKE_SQUARE else _ZERO
            found[b] = total if unlike == _ZERO else -_ONE


@njit(cache=True, fastmath=REORDER)  # type: ignore[untyped-decorator]
def _mixed(
    halves: NDArray[np.float32],
    a: int,
    first: int,
    end: int,
    width: int,
    near: NDArray[np.int8],
    found: NDArray[np.float32],
) -> None:
    """The sum of m log2 m of head a with those from `first` to `end` that were far: the loop that takes the time."""
    for b in range(first, end):
        if near[b] == FAR:
            total = _ZERO
            for j in range(width):
                m = halves[a, j] + halves[b, j]
                total += m * fast_log2(m)
            found[b] = total


@njit(cache=True)  # type: ignore[untyped-decorator]
def _all_pairs(
    halves: NDArray[np.float32],
    own: NDArray[np.float64],
    mass: NDArray[np.float64],
    width: int,
    tile: int,
    near: NDArray[np.int8],
    found: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """Add the divergence of every pair of heads that both have mass, above the diagonal. near: how the last row was."""
    heads = len(mass)
    for first_a in range(0, heads, tile):
        for first_b in range(first_a, heads, tile):
            end = min(first_b + tile, heads)
            for a in range(first_a, min(first_a + tile, heads)):
                if not mass[a] > 0:
                    continue
                first = max(a + 1, first_b)
                _mixed(halves, a, first, end, width, near[a], found)
                _alike(halves, a, first, end, width, near[a], found)
                for b in range(first, end):
                    if not mass[b] > 0:
                        continue
                    before = near[a, b]
                    nats = _LOG2 * (own[a] + own[b] - found[b]) if before == FAR else float(found[b])
                    if before == UNLIKE or nats < (CLOSE if before == FAR else 0.0):
                        nats = _close(halves, a, b, width)
                        near[a, b] = ALIKE if before == FAR else UNLIKE
                    if nats > CLOSE:
                        near[a, b] = FAR
                    sums[a, b] += nats


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _some_rows(
    maps: NDArray[np.float32],
    smoothing: np.float32,
    tile: int,
    sums: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> None:
    tokens, heads, columns = maps.shape
    halves = np.zeros((heads, -(-columns // LANES) * LANES), dtype=np.float32)
    own = np.zeros(heads)
    near = np.zeros((heads, heads), dtype=np.int8)
    found = np.zeros(heads, dtype=np.float32)
    for i in range(tokens):
        width = _prepare(maps[i], smoothing, mass[i], halves, own)
        _all_pairs(halves, own, mass[i], width, tile, near, found, sums)
