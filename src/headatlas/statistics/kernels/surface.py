"""The fused CPU kernel of `add_surface`: every row is read once, while it is in the cache.

With `fast_log` the loop runs eight numbers at a time. Numbers are float32 within a row and float64 from row to row.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit, prange
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.kinds import TokenKind
from headatlas.statistics.kernels import Doubles, Floats, Integers
from headatlas.statistics.kernels.fast_log import REORDER, fast_log
from headatlas.statistics.kernels.threads import numba_threads

SMALL = 100_000  # numbers; less work than this is not worth a second thread
COLUMNS = 13  # of Sum; written out, since compiled code is cached and cannot follow a Python enum
_CLS, _SEP, _PERIOD_COMMA = int(TokenKind.CLS), int(TokenKind.SEP), int(TokenKind.PERIOD_COMMA)
_ONE = np.float32(1.0)


def add_surface_cpu(
    sums: Tensor, weights: Tensor, row: int, column: int, lengths: Tensor, kinds: Tensor, smoothing: float = 0.0
) -> None:
    """Add the rows of a tile to the sums [S, H, COLUMNS], float64.

    weights: [S, H, R, C] on the CPU, any float type. row, column: the places of the first ones in the map. lengths:
    [S]. kinds: [S, T].
    """
    maps = weights.detach().to(torch.float32).contiguous().numpy()
    with numba_threads(maps.size >= SMALL):
        _all_heads(maps, row, column, lengths.numpy(), kinds.numpy(), np.float32(smoothing), sums.numpy())


@njit(cache=True, fastmath=REORDER)  # type: ignore[untyped-decorator]
def _row(row: Floats, n: int, keep: np.float32, add: np.float32) -> tuple[np.float32, np.float32, np.float32]:
    """Sum of a row, sum of p log p for p = keep * a + add, and largest weight.

    The largest is found among the bits: weights are not negative, and there integers are in the order of floats.
    """
    total = np.float32(0)
    plogp = np.float32(0)
    largest = np.int32(0)
    for j in range(n):
        a = row[j]
        total += a
        p = keep * a + add
        plogp += p * fast_log(p)
        largest = max(largest, np.float32(a).view(np.int32))
    return total, plogp, np.int32(largest).view(np.float32)


@njit(inline="always")  # type: ignore[untyped-decorator]
def _sum_at(row: Floats, columns: Integers) -> float:
    total = 0.0
    for j in columns:
        total += row[j]
    return total


@njit(inline="always")  # type: ignore[untyped-decorator]
def places_of_kinds(kinds: NDArray[np.uint8]) -> tuple[Integers, Integers, Integers]:
    """Where the [CLS], the [SEP] and the marks are among some columns."""
    return np.flatnonzero(kinds == _CLS), np.flatnonzero(kinds == _SEP), np.flatnonzero(kinds == _PERIOD_COMMA)


@njit(inline="always")  # type: ignore[untyped-decorator]
def add_row(
    row: Floats,
    low: int,
    own: int,
    width: int,
    kind: int,
    places: tuple[Integers, Integers, Integers],
    total: float,
    entropy: float,
    largest: float,
    out: Doubles,
) -> None:
    """Add one row to the sums of its head.

    low: the place of the row's first column. own: the place among the row's columns of the token that attends, perhaps
    outside them. width: how many columns are real. kind: that of the token that attends.
    """
    for offset in range(3):  # the previous, the current and the next token
        if 0 <= own - 1 + offset < width:
            out[offset] += row[own - 1 + offset]
    to_sep = _sum_at(row, places[1])
    out[3] += _sum_at(row, places[0])
    out[4] += to_sep
    out[5] += _sum_at(row, places[2])
    out[6] += total
    if kind == _SEP:
        out[7] += to_sep
    out[8] += entropy
    if kind == _CLS:
        out[9] += entropy
    out[10] += largest
    if low == 0 and width > 0:
        out[11] += row[0]
    out[12] = max(out[12], largest)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _one_head(
    rows: Floats, first: int, low: int, n: int, kinds: NDArray[np.uint8], smoothing: np.float32, out: Doubles
) -> None:
    """Add rows [R, C] of one map with n real rows and columns, from row `first` and column `low` on."""
    width = max(min(rows.shape[1], n - low), 0)
    places = places_of_kinds(kinds[low : low + width])
    keep, add = _ONE - smoothing, np.float32(smoothing / n)
    outside = (n - width) * add * fast_log(add) if smoothing != 0 else np.float32(0)  # p log p of all other columns
    for i in range(first, min(first + rows.shape[0], n)):
        row = rows[i - first]
        total, plogp, largest = _row(row, width, keep, add)
        mass = keep * total + smoothing
        entropy = np.log(np.float64(mass)) - (plogp + outside) / mass if mass != 0 else 0.0
        add_row(row, low, i - low, width, kinds[i], places, total, entropy, largest, out)


@njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def _all_heads(
    maps: Floats,
    first: int,
    low: int,
    lengths: Integers,
    kinds: NDArray[np.uint8],
    smoothing: np.float32,
    out: Doubles,
) -> None:
    heads = maps.shape[1]
    for place in prange(maps.shape[0] * heads):
        segment, head = place // heads, place % heads
        _one_head(maps[segment, head], first, low, lengths[segment], kinds[segment], smoothing, out[segment, head])
