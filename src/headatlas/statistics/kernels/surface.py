"""The fused CPU kernel of `surface_sums`: every row is read once, while it is in the cache.

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


def surface_sums_cpu(weights: Tensor, lengths: Tensor, kinds: Tensor, smoothing: float = 0.0) -> Tensor:
    """All sums of one layer: [B, H, COLUMNS] float64. weights: [B, H, Q, K] on the CPU, any float type."""
    maps = weights.detach().to(torch.float32).contiguous().numpy()
    out = np.zeros((*maps.shape[:2], COLUMNS))
    with numba_threads(maps.size >= SMALL):
        _all_heads(maps, lengths.numpy(), kinds.numpy(), np.float32(smoothing), out)
    return torch.from_numpy(out)


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


@njit(cache=True)  # type: ignore[untyped-decorator]
def _one_head(maps: Floats, n: int, kinds: NDArray[np.uint8], smoothing: np.float32, out: Doubles) -> None:
    """The sums of one map [Q, K] with n real rows and columns."""
    cls = np.flatnonzero(kinds[:n] == _CLS)
    sep = np.flatnonzero(kinds[:n] == _SEP)
    marks = np.flatnonzero(kinds[:n] == _PERIOD_COMMA)
    keep, add = _ONE - smoothing, np.float32(smoothing / n)
    previous = current = following = to_cls = to_sep = to_mark = 0.0
    total = sep_to_sep = entropy = cls_entropy = maximum = to_first = highest = 0.0
    for i in range(n):
        row = maps[i]
        if i > 0:
            previous += row[i - 1]
        current += row[i]
        to_first += row[0]
        if i < n - 1:
            following += row[i + 1]
        to_cls += _sum_at(row, cls)
        to_mark += _sum_at(row, marks)
        row_to_sep = _sum_at(row, sep)
        to_sep += row_to_sep
        if kinds[i] == _SEP:
            sep_to_sep += row_to_sep
        row_total, plogp, largest = _row(row, n, keep, add)
        total += row_total
        mass = keep * row_total + smoothing
        if mass != 0:
            row_entropy = np.log(np.float64(mass)) - plogp / mass
            entropy += row_entropy
            if kinds[i] == _CLS:
                cls_entropy += row_entropy
        maximum += largest
        highest = max(highest, largest)
    out[0], out[1], out[2] = previous, current, following
    out[3], out[4], out[5] = to_cls, to_sep, to_mark
    out[6], out[7] = total, sep_to_sep
    out[8], out[9] = entropy, cls_entropy
    out[10], out[11], out[12] = maximum, to_first, highest


@njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def _all_heads(maps: Floats, lengths: Integers, kinds: NDArray[np.uint8], smoothing: np.float32, out: Doubles) -> None:
    heads = maps.shape[1]
    for place in prange(maps.shape[0] * heads):
        segment, head = place // heads, place % heads
        _one_head(maps[segment, head], lengths[segment], kinds[segment], smoothing, out[segment, head])
