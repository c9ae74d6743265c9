"""The CPU kernel of `divergence_sums`: for a row, all heads' weights wait in the cache while every pair is compared.

Threads share out the rows. A thread scales a row of each head to sum 1/2 and keeps p/2 and the sum of (p/2) log p, so
that a pair costs one logarithm a column: of m = p/2 + q/2, in

    JS = sum of (p/2) log p + sum of (q/2) log q - sum of m log m.

The difference of float32 sums is good to some 1e-7 nats a row, which is nothing beside most divergences; rows closer
than CLOSE are taken again by a series that loses nothing where p and q are alike. Heads are compared a tile with a
tile, so that more of them than the cache holds still come from it. Columns that no head attends to, such as those
ahead in a causal model, are not visited.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray
from torch import Tensor

from headatlas.statistics.fast_log import REORDER, fast_log, fast_log2
from headatlas.statistics.threads import numba_threads

SMALL = 100_000  # comparisons of two numbers; less work than this is not worth a second thread
TILE_NUMBERS = 32_768  # of a tile's rows: two tiles fill half of a cache of 512 KB
LANES = 8  # columns are compared so many at a time, the last of them filled up with zeros
CLOSE = 0.02  # nats; from here on rounding is at most some 1e-5 of a row's divergence, and less in a sum over rows
_LOG2 = np.log(2.0)
_ONE = np.float32(1.0)
_ZERO = np.float32(0.0)
_TINY = np.float32(1e-30)
_ALIKE = np.float32(0.09)  # of u^2, below which the series is used; its next term would be 6e-9 of the first
_SERIES = tuple(np.float32(1 / (2 * k * (2 * k - 1))) for k in range(6, 0, -1))


def divergence_sums_cpu(rows: Tensor, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """The sums [H, H] and masses [H, Q] of `divergence_sums`, float64. rows: [Q, H, K] on the CPU, any float type."""
    maps = rows.detach().to(torch.float32).contiguous().numpy()
    tokens, heads, columns = maps.shape
    mass = np.zeros((tokens, heads))
    tile = max(1, TILE_NUMBERS // columns)
    with numba_threads(heads * maps.size >= 2 * SMALL):
        sums = np.zeros((min(get_num_threads(), tokens), heads, heads))
        _all_rows(maps, np.float32(smoothing), tile, sums, mass)
    return torch.from_numpy(sums.sum(0)), torch.from_numpy(mass.T)


@njit(cache=True, fastmath=REORDER)  # type: ignore[untyped-decorator]
def _prepare(
    row: NDArray[np.float32],
    smoothing: np.float32,
    mass: NDArray[np.float64],
    halves: NDArray[np.float32],
    own: NDArray[np.float64],
) -> int:
    """Fill p/2 and the sum of (p/2) log2 p of one row of each head, and its mass. How many columns to compare."""
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
    """The divergence of two rows that are nearly the same, in nats.

    With p = m (1 + u) and q = m (1 - u), a term is m/2 ((1 + u) log(1 + u) + (1 - u) log(1 - u)), or the sum over
    k >= 1 of m u^2k / (2k (2k - 1)).
    """
    total = _ZERO
    for j in range(width):
        p, q = halves[a, j], halves[b, j]
        m = p + q
        u = (p - q) / max(m, _TINY)
        square = u * u
        series = _SERIES[0]
        series = series * square + _SERIES[1]
        series = series * square + _SERIES[2]
        series = series * square + _SERIES[3]
        series = series * square + _SERIES[4]
        series = series * square + _SERIES[5]
        direct = p * fast_log(p + p) + q * fast_log(q + q) - m * fast_log(m)
        total += m * square * series if square < _ALIKE else direct
    return total


@njit(cache=True, fastmath=REORDER)  # type: ignore[untyped-decorator]
def _with_others(
    halves: NDArray[np.float32],
    a: int,
    first: int,
    end: int,
    width: int,
    found: NDArray[np.float32],
) -> None:
    """The sum of m log2 m of head a with those from `first` up to `end`: the loop that takes the time, nothing else."""
    for b in range(first, end):
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
    sums: NDArray[np.float64],
) -> None:
    """Add the divergence of every pair of heads that both have mass, above the diagonal."""
    heads = len(mass)
    found = np.empty(heads, dtype=np.float32)
    for first_a in range(0, heads, tile):
        for first_b in range(first_a, heads, tile):
            end_b = min(first_b + tile, heads)
            for a in range(first_a, min(first_a + tile, heads)):
                if not mass[a] > 0:
                    continue
                first = max(a + 1, first_b)
                _with_others(halves, a, first, end_b, width, found)
                for b in range(first, end_b):
                    if mass[b] > 0:
                        nats = _LOG2 * (own[a] + own[b] - found[b])
                        sums[a, b] += nats if nats > CLOSE else _close(halves, a, b, width)


@njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def _all_rows(
    maps: NDArray[np.float32],
    smoothing: np.float32,
    tile: int,
    sums: NDArray[np.float64],
    mass: NDArray[np.float64],
) -> None:
    """Every part takes each so manieth row, so that the short rows of a causal model are shared out too."""
    tokens, heads, columns = maps.shape
    parts = len(sums)
    for part in prange(parts):
        halves = np.zeros((heads, -(-columns // LANES) * LANES), dtype=np.float32)
        own = np.zeros(heads)
        for i in range(part, tokens, parts):
            width = _prepare(maps[i], smoothing, mass[i], halves, own)
            _all_pairs(halves, own, mass[i], width, tile, sums[part])
