"""The CPU kernels of `received` and `key_measures`: every map is read once, a row at a time."""

from __future__ import annotations

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from headatlas.statistics.kernels import Flags, Floats, Integers
from headatlas.statistics.kernels.threads import numba_threads

SMALL = 100_000  # numbers; less work than this is not worth a second thread
FORMS = 4  # mean and max over all rows, over text rows
_TINY = np.finfo(np.float32).tiny


def received_cpu(weights: Tensor, mask: Tensor, text: Tensor, causal: bool) -> Tensor:
    """Attention received by each token: [B, H, FORMS, T] float32."""
    maps = weights.detach().to(torch.float32).contiguous().numpy()
    out = np.zeros((*maps.shape[:2], FORMS, maps.shape[-1]), dtype=np.float32)
    with numba_threads(maps.size >= SMALL):
        _received(maps, mask.sum(1).numpy(), text.numpy(), causal, out)
    return torch.from_numpy(out)


def key_measures_cpu(scores: Tensor, key: Tensor, other: Tensor, least_share: float) -> Tensor:
    """Relative attention, average precision and cross-entropy of each row of scores: [3, B, H, P]."""
    values = scores.detach().to(torch.float32).contiguous().numpy()
    out = np.zeros((3, *values.shape[:-1]), dtype=np.float32)
    with numba_threads(values.size >= SMALL // 10):
        _key_measures(values, key.numpy(), other.numpy(), least_share, out)
    return torch.from_numpy(out)


@njit(parallel=True, cache=True)  # type: ignore[untyped-decorator]
def _received(maps: Floats, lengths: Integers, text: Flags, causal: bool, out: Floats) -> None:
    heads = maps.shape[1]
    for task in prange(maps.shape[0] * heads):
        batch, head = task // heads, task % heads
        n = lengths[batch]
        of_head = out[batch, head]
        for i in range(n):
            row = maps[batch, head, i, :n]
            place = 2 if text[batch, i] else 0  # special rows apart from those of text, put together below
            total, most = of_head[place], of_head[place + 1]
            for j in range(n):
                total[j] += row[j]
                most[j] = row[j] if row[j] > most[j] else most[j]  # max() minds NaN, which takes one at a time
        rows_of_all, rows_of_text = n, np.int64(0)
        for i in range(n):
            rows_of_text += text[batch, i]
        for j in range(n):
            of_head[0, j] = (of_head[0, j] + of_head[2, j]) / max(rows_of_all, 1)
            of_head[1, j] = max(of_head[1, j], of_head[3, j])
            of_head[2, j] /= max(rows_of_text, 1)
            if causal:  # row j is the last that does not see token j + 1
                rows_of_all -= 1
                rows_of_text -= text[batch, j]


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
