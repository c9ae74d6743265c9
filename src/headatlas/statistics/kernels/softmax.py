"""The CPU kernel of attention in tiles: one sweep over a row of scores makes its softmax and takes its sums.

With m the largest score of a row, e = exp(scale (s - m)) and Z the sum of e, weights are e / Z, the largest weight is
1 / Z, and the entropy is log Z - (sum of e log e) / Z, which needs no logarithm per weight.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from torch import Tensor

from headatlas.models.tiles import Tile
from headatlas.statistics.kernels import Doubles, Floats, Integers
from headatlas.statistics.kernels.fast_log import REORDER
from headatlas.statistics.kernels.surface import SMALL, add_row, places_of_kinds
from headatlas.statistics.kernels.threads import numba_threads

_LOG2_E = np.float32(1.44269504089)
_LOG_2 = np.float32(0.69314718056)
_HALF, _ONE, _ZERO = np.float32(0.5), np.float32(1.0), np.float32(0.0)
_LEAST = np.float32(-126.0)  # the exponent of the smallest normal number; what is smaller becomes 0
_BIAS, _MANTISSA_BITS = np.int32(127), np.int32(23)
_SIGN_PLACE, _ALL_BUT_SIGN, _FIRST = np.int32(31), np.int32(0x7FFFFFFF), np.int32(-0x80000000)
# 2^f for f from -1/2 to 1/2, off by 6e-8
_P = tuple(
    np.float32(c) for c in (1.5403530e-4, 1.3333558e-3, 9.6181291e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1, 1.0)
)


def softmax_cpu(
    tile: Tile, start: Tensor, end: Tensor, scale: float, lengths: Tensor, kinds: Tensor, sums: Tensor
) -> None:
    """Replace scores by weights, and add the rows to the sums of `add_surface`.

    tile: of scores [S, H, R, C], contiguous float32 on the CPU. start, end: [S, R], the places of the columns that each
    row sees. lengths: [B]. kinds: [B, T]. sums: [B, H, 12] float64.
    """
    places = (tile.segment, tile.head, tile.row, tile.column)
    ends = (part.contiguous().numpy() for part in (start, end))  # numba compiles anew for another layout
    batch = (part.numpy() for part in (lengths, kinds, sums))
    with numba_threads(tile.weights.numel() >= SMALL):
        _all_heads(tile.weights.numpy(), places, *ends, np.float32(scale), *batch)


@njit(fastmath=REORDER)  # type: ignore[untyped-decorator]
def _ordered(bits: np.int32) -> np.int32:
    """Turn the bits of floats into integers in the same order, and back; NaN comes last."""
    return np.int32(bits ^ np.int32(np.int32(bits >> _SIGN_PLACE) & _ALL_BUT_SIGN))


@njit(fastmath=REORDER)  # type: ignore[untyped-decorator]
def _largest(row: Floats) -> np.float32:
    """The largest score; NaN if there is one. Integers are compared several at a time, floats are not."""
    largest = _FIRST
    for j in range(len(row)):
        largest = max(largest, _ordered(np.float32(row[j]).view(np.int32)))
    return np.int32(_ordered(np.int32(largest))).view(np.float32)


@njit(fastmath=REORDER, error_model="numpy")  # type: ignore[untyped-decorator]
def _power_of_2(t: np.float32) -> np.float32:
    """2^t for t from -126 to 0."""
    whole = np.int32(t - _HALF)
    f = t - np.float32(whole)
    p = _P[0] * f + _P[1]
    p = p * f + _P[2]
    p = p * f + _P[3]
    p = p * f + _P[4]
    p = p * f + _P[5]
    p = p * f + _P[6]
    return p * np.int32(np.int32(whole + _BIAS) << _MANTISSA_BITS).view(np.float32)


@njit(fastmath=REORDER, error_model="numpy")  # type: ignore[untyped-decorator]
def _exponentials(row: Floats, largest: np.float32, scale: np.float32) -> tuple[np.float32, np.float32]:
    """Replace scores s by e = 2^t, t = (s - largest) scale, and return the sums of e and of e t."""
    total = weighted = _ZERO
    for j in range(len(row)):
        t = (row[j] - largest) * scale
        bounded = max(t, _LEAST)  # NaN stays NaN
        e = _power_of_2(bounded)
        e = _ZERO if t < _LEAST else e
        row[j] = e
        total += e
        weighted += e * bounded
    return total, weighted


@njit(cache=True)  # type: ignore[untyped-decorator]
def _one_head(
    rows: Floats,
    first: int,
    low: int,
    start: Integers,
    end: Integers,
    scale: np.float32,
    n: int,
    kinds: NDArray[np.uint8],
    out: Doubles,
) -> None:
    columns = rows.shape[1]
    width = max(min(columns, n - low), 0)
    places = places_of_kinds(kinds[low : low + width])
    for i in range(rows.shape[0]):
        row = rows[i]
        from_column = min(max(start[i] - low, 0), columns)
        to_column = min(max(end[i] - low, from_column), columns)
        row[:from_column] = 0
        row[to_column:] = 0
        if to_column == from_column:
            continue
        seen = row[from_column:to_column]
        total, weighted = _exponentials(seen, _largest(seen), scale * _LOG2_E)
        inverse = _ONE / total
        for j in range(len(seen)):
            seen[j] *= inverse
        if first + i < n:
            entropy = np.log(np.float64(total)) - np.float64(_LOG_2) * weighted / total
            kind = kinds[first + i]
            add_row(row, low, first + i - low, width, kind, places, 1.0, entropy, inverse, out)


@njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def _all_heads(
    scores: Floats,
    first: tuple[int, int, int, int],
    start: Integers,
    end: Integers,
    scale: np.float32,
    lengths: Integers,
    kinds: NDArray[np.uint8],
    out: Doubles,
) -> None:
    heads = scores.shape[1]
    for place in prange(scores.shape[0] * heads):
        segment, head = place // heads, place % heads
        _one_head(
            scores[segment, head],
            first[2],
            first[3],
            start[segment],
            end[segment],
            scale,
            lengths[first[0] + segment],
            kinds[first[0] + segment],
            out[first[0] + segment, first[1] + head],
        )
