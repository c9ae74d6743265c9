"""The CPU kernels of `add_received` and `key_measures`: every map is read once, a row at a time."""

from __future__ import annotations

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from headatlas.statistics.kernels import Flags, Floats, Integers
from headatlas.statistics.kernels.threads import numba_threads

SMALL = 100_000  # numbers; less work than this is not worth a second thread
_TINY = np.finfo(np.float32).tiny


def add_received_cpu(sums: Tensor, weights: Tensor, row: int, column: int, lengths: Tensor, text: Tensor) -> None:
    """Add the rows of a tile to the sums [S, H, 4, T] float32; see `statistics.received.add_received`."""
    maps = weights.detach().to(torch.float32).contiguous().numpy()
    with numba_threads(maps.size >= SMALL):
        _received(maps, row, column, lengths.numpy(), text.numpy(), sums.numpy())


def key_measures_cpu(scores: Tensor, key: Tensor, other: Tensor, least_share: float) -> Tensor:
    """Relative attention, average precision and cross-entropy of each row of scores: [3, B, H, P]."""
    values = scores.detach().to(torch.float32).contiguous().numpy()
    out = np.zeros((3, *values.shape[:-1]), dtype=np.float32)
    with numba_threads(values.size >= SMALL // 10):
        _key_measures(values, key.numpy(), other.numpy(), least_share, out)
    return torch.from_numpy(out)


@njit(parallel=True, cache=True)  # type: ignore[untyped-decorator]
def _received(maps: Floats, first: int, low: int, lengths: Integers, text: Flags, out: Floats) -> None:
    heads, rows, columns = maps.shape[1:]
    for task in prange(maps.shape[0] * heads):
        batch, head = task // heads, task % heads
        n = lengths[batch]
        width = max(min(columns, n - low), 0)
        for i in range(first, min(first + rows, n)):
            row = maps[batch, head, i - first]
            form = 2 if text[batch, i] else 0
            total = out[batch, head, form, low : low + width]
            most = out[batch, head, form + 1, low : low + width]
            for j in range(width):
                total[j] += row[j]
                most[j] = row[j] if row[j] > most[j] else most[j]  # max() minds NaN, which takes one at a time


@njit(parallel=True, cache=True)  # type: ignore[untyped-decorator]
def _key_measures(scores: Floats, key: Flags, other: Flags, least_share: float, out: Floats) -> None:
    heads, forms, size = scores.shape[1:]
    for task in prange(scores.shape[0] * heads):
        batch, head = task // heads, task % heads
        of_key, of_other = np.empty(size, dtype=np.float32), np.empty(size, dtype=np.float32)
        for form in range(forms):
            keys = others = 0
            for j in range(size):
                if key[batch, j]:
                    of_key[keys] = scores[batch, head, form, j]
                    keys += 1
                elif other[batch, j]:
                    of_other[others] = scores[batch, head, form, j]
                    others += 1
            to_key, to_other = of_key[:keys].sum(), of_other[:others].sum()
            whole = max(to_key + to_other, _TINY)
            precision = surprise = 0.0
            for place in range(keys):
                right, wrong = 0, 0
                for j in range(keys):
                    right += of_key[j] >= of_key[place]
                for j in range(others):
                    wrong += of_other[j] >= of_key[place]
                precision += right / (right + wrong)
                surprise -= np.log(max(of_key[place] / whole, least_share))
            out[0, batch, head, form] = to_key / max(keys, 1) - to_other / max(others, 1)
            out[1, batch, head, form] = precision / max(keys, 1)
            out[2, batch, head, form] = surprise / max(keys, 1)
