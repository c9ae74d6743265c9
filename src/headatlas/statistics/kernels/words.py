"""The CPU kernels of `word_attention` and `predictions`: a map of a sentence fits the cache, so each is read once.

A sentence's maps are so small that the fixed cost of tensor operations outweighs their work many times. Sums are
taken in the order of the tokens, so a sentence's numbers do not depend on the batch it came with.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from headatlas.statistics.kernels import Bits, Flags, Floats, Integers
from headatlas.statistics.kernels.threads import numba_threads

SMALL = 2_000_000  # numbers; less work than this, about a millisecond, is not worth a second thread
_MEAN, _FIRST, _MAX = 0, 1, 2
_MODES = {"mean": _MEAN, "first": _FIRST, "max": _MAX}


def word_attention_cpu(weights: Tensor, index: Tensor, size: int, how: str) -> Tensor:
    """Attention between words: [B, H, size, size] float32. weights: [B, H, Q, K] on the CPU, any float type."""
    maps = weights.detach().to(torch.float32).contiguous().numpy()
    out = np.zeros((*maps.shape[:2], size, size), dtype=np.float32)
    with numba_threads(maps.size >= SMALL):
        _all_maps(maps, index.numpy(), _MODES[how], out)
    return torch.from_numpy(out)


def predictions_cpu(maps: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Row and column argmax among the other candidates: two of [B, H, W] int32. maps: [B, H, W, W] float32."""
    bits = maps.contiguous().numpy().view(np.int32)
    rows, columns = (np.full(bits.shape[:3], -1, dtype=np.int32) for _ in range(2))
    with numba_threads(bits.size >= SMALL):
        _all_predictions(bits, candidates.contiguous().numpy(), rows, columns)
    return torch.from_numpy(rows), torch.from_numpy(columns)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _one_map(weights: Floats, slots: Integers, mode: int, room: Floats, tokens_of: Integers, out: Floats) -> None:
    """One head's map [Q, K] to [W, W]. slots: the word of each token, W where none; room: for [W + 1] numbers."""
    size = len(out)
    tokens_of[:] = 0
    for i in range(len(slots)):
        word = slots[i]
        if word == size or (mode == _FIRST and tokens_of[word]):
            continue
        tokens_of[word] += 1
        room[:] = 0
        row = weights[i]
        for j in range(len(slots)):
            room[slots[j]] += row[j]
        row_out = out[word]
        if mode == _MAX:
            for other in range(size):
                row_out[other] = max(row_out[other], room[other])
        else:
            for other in range(size):
                row_out[other] += room[other]
    for word in range(size):
        scale = np.float32(tokens_of[word]) if mode == _MEAN else np.float32(1)
        if mode == _MAX:
            scale = out[word].sum()
        if scale != 1 and scale != 0:
            out[word] /= scale


@njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def _all_maps(weights: Floats, index: Integers, mode: int, out: Floats) -> None:
    size = out.shape[2]
    for segment in prange(weights.shape[0]):
        tokens = 0
        for place in range(index.shape[1]):
            if index[segment, place] >= 0:
                tokens = place + 1
        slots = np.empty(tokens, dtype=np.int64)
        for place in range(tokens):
            slots[place] = index[segment, place] if index[segment, place] >= 0 else size
        tokens_of = np.empty(size, dtype=np.int64)
        room = np.empty(size + 1, dtype=np.float32)
        for head in range(weights.shape[1]):
            _one_map(weights[segment, head], slots, mode, room, tokens_of, out[segment, head])


@njit(cache=True)  # type: ignore[untyped-decorator]
def _one_prediction(bits: Bits, mask: Bits, room: Bits, most_to: Bits, rows: Bits, columns: Bits) -> None:
    """Both predictions of one head. bits: its map [W, W]; mask: all bits of candidates, none of others.

    Weights are compared by their bits: they are not negative, and there integers are in the order of floats, which
    lets the loops run several numbers at a time.
    """
    size = len(mask)
    most_to[:] = 0
    for i in range(size):
        if mask[i] == 0:
            continue
        row = bits[i]
        most = np.int32(0)
        for j in range(size):
            room[j] = row[j] & mask[j]
        room[i] = 0
        for j in range(size):
            weight = room[j]
            most = max(most, weight)
            better = weight > most_to[j]
            most_to[j] = weight if better else most_to[j]
            columns[j] = np.int32(i) if better else columns[j]
        if most > 0:
            place = 0
            while room[place] != most:
                place += 1
            rows[i] = place


@njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def _all_predictions(bits: Bits, candidates: Flags, rows: Bits, columns: Bits) -> None:
    size = bits.shape[2]
    for segment in prange(bits.shape[0]):
        mask = np.empty(size, dtype=np.int32)
        for word in range(size):
            mask[word] = -1 if candidates[segment, word] else 0
        room, most_to = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
        for head in range(bits.shape[1]):
            _one_prediction(bits[segment, head], mask, room, most_to, rows[segment, head], columns[segment, head])
