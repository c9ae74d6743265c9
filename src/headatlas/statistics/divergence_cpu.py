"""The CPU kernel of `divergence_sums`: for a row, all heads' weights wait in the cache while every pair is compared.

Threads share out the rows. A thread scales a row of each head to sum 1/2 and keeps p/2 and the sum of (p/2) log p, so
that a pair costs one logarithm a column: of m = p/2 + q/2, in

    JS = sum of (p/2) log p + sum of (q/2) log q - sum of m log m.

The difference of float32 sums is good to some 1e-7 nats a row, which is nothing beside most divergences. Rows closer
than CLOSE are taken by a formula whose every term is right to five digits and none negative, so that nothing is lost
where p and q are alike: with u = (p - q) / (p + q) a term is m g(u), and g / u^2 is a smooth function of
w = sqrt(p q) / m = sqrt(1 - u^2). Heads close in one row are most often close in the next, so it goes first.

Heads are compared a tile with a tile, so that more of them than the cache holds still come from it. Columns that no
head attends to, such as those ahead in a causal model, are not visited.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray
from torch import Tensor

from headatlas.statistics.fast_log import REORDER, fast_log2
from headatlas.statistics.threads import numba_threads

SMALL = 100_000  # comparisons of two numbers; less work than this is not worth a second thread
TILE_NUMBERS = 32_768  # of a tile's rows: two tiles and their roots fill a cache of 512 KB
LANES = 8  # columns are compared so many at a time, the last of them filled up with zeros
CLOSE = 0.02  # nats; from here on rounding is at most some 1e-5 of a row's divergence, and less in a sum over rows
_LOG2 = np.log(2.0)
_ONE = np.float32(1.0)
_ZERO = np.float32(0.0)
_TINY = np.float32(1e-30)
# g / u^2 = N(w) / D(w), g = ((1 + u) log(1 + u) + (1 - u) log(1 - u)) / 2; off by 2e-6, and 8e-6 where w < 0.3
_N = tuple(np.float32(c) for c in (0.264434407, 30.8209646, 12.8685607, 0.693152311))
_D = tuple(np.float32(c) for c in (22.3614379, 47.3593754, 18.5735759, 1.0))


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
    roots: NDArray[np.float32],
    own: NDArray[np.float64],
) -> int:
    """Fill p/2, root p and the sum of (p/2) log2 p of one row of each head, and its mass. The number of columns."""
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
            roots[head, j] = np.sqrt(half + half)
            logarithms += half * fast_log2(half + half)
        own[head] = logarithms
        last = n
        while last > width and halves[head, last - 1] == 0:
            last -= 1
        width = max(width, last)
    return -(-width // LANES) * LANES


@njit(cache=True, fastmath=REORDER, error_model="numpy")  # type: ignore[untyped-decorator]
def _close(halves: NDArray[np.float32], roots: NDArray[np.float32], a: int, b: int, width: int) -> np.float32:
    """The divergence of two rows in nats, right however alike they are; about half as fast as the logarithm."""
    total = _ZERO
    for j in range(width):
        p, q = halves[a, j], halves[b, j]
        over_m = _ONE / max(p + q, _TINY)
        w = roots[a, j] * roots[b, j] * over_m
        numerator = ((_N[0] * w + _N[1]) * w + _N[2]) * w + _N[3]
        denominator = ((_D[0] * w + _D[1]) * w + _D[2]) * w + _D[3]
        total += (p - q) * (p - q) * over_m * numerator / denominator
    return total


@njit(cache=True, fastmath=REORDER)  # type: ignore[untyped-decorator]
def _mixed(halves: NDArray[np.float32], a: int, b: int, width: int) -> np.float32:
    """The sum of m log2 m of two heads: the loop that takes the time."""
    total = _ZERO
    for j in range(width):
        m = halves[a, j] + halves[b, j]
        total += m * fast_log2(m)
    return total


@njit(cache=True)  # type: ignore[untyped-decorator]
def _all_pairs(
    halves: NDArray[np.float32],
    roots: NDArray[np.float32],
    own: NDArray[np.float64],
    mass: NDArray[np.float64],
    width: int,
    tile: int,
    near: NDArray[np.bool_],
    sums: NDArray[np.float64],
) -> None:
    """Add the divergence of every pair of heads that both have mass, above the diagonal. near: were close before."""
    heads = len(mass)
    for first_a in range(0, heads, tile):
        for first_b in range(first_a, heads, tile):
            for a in range(first_a, min(first_a + tile, heads)):
                if not mass[a] > 0:
                    continue
                for b in range(max(a + 1, first_b), min(first_b + tile, heads)):
                    if not mass[b] > 0:
                        continue
                    nats = CLOSE if near[a, b] else _LOG2 * (own[a] + own[b] - _mixed(halves, a, b, width))
                    if not nats > CLOSE:
                        nats = _close(halves, roots, a, b, width)
                    near[a, b] = nats <= CLOSE
                    sums[a, b] += nats


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
        roots = np.zeros_like(halves)
        own = np.zeros(heads)
        near = np.zeros((heads, heads), dtype=np.bool_)
        for i in range(part, tokens, parts):
            width = _prepare(maps[i], smoothing, mass[i], halves, roots, own)
            _all_pairs(halves, roots, own, mass[i], width, tile, near, sums[part])
