"""The CPU kernels of `add_word_rows` and `predictions`: a map of a sentence fits the cache, so each is read once.

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


def add_word_rows_cpu(
    sums: Tensor, weights: Tensor, row: int, column: int, rows: Tensor, words: Tensor, how: str
) -> None:
    """Add the rows of a tile to the sums [S, H, N, W] float32; see `statistics.words.add_word_rows`."""
    maps = weights.detach().to(torch.float32).contiguous().numpy()
    with numba_threads(maps.size >= SMALL):
        _all_maps(maps, row, column, rows.numpy(), words.numpy(), how == "max", sums.numpy())


def predictions_cpu(maps: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Row and column argmax among the other candidates: two of [B, H, W] int32. maps: [B, H, W, W] float32."""
    bits = maps.contiguous().numpy().view(np.int32)
    rows, columns = (np.full(bits.shape[:3], -1, dtype=np.int32) for _ in range(2))
    with numba_threads(bits.size >= SMALL):
        _all_predictions(bits, candidates.contiguous().numpy(), rows, columns)
    return torch.from_numpy(rows), torch.from_numpy(columns)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _one_map(weights: Floats, rows: Integers, slots: Integers, largest: bool, room: Floats, out: Floats) -> None:
    """Add rows [R, C] of one head's map to [N, W]. slots: the word of each column, W where none; room: for [W + 1]."""
    size = out.shape[1]
    for i in range(len(rows)):
        if rows[i] < 0:
            continue
        room[:] = 0
        row = weights[i]
        for j in range(len(slots)):
            room[slots[j]] += row[j]
        row_out = out[rows[i]]
        if largest:
            for other in range(size):
                row_out[other] = max(row_out[other], room[other])
        else:
            for other in range(size):
                row_out[other] += room[other]


@njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def _all_maps(
    weights: Floats, first: int, low: int, rows: Integers, words: Integers, largest: bool, out: Floats
) -> None:
    size, high = out.shape[3], low + weights.shape[3]
    for segment in prange(weights.shape[0]):
        last = low
        for place in range(low, high):
            if words[segment, place] >= 0:
                last = place + 1
        slots = np.empty(last - low, dtype=np.int64)
        for place in range(low, last):
            slots[place - low] = words[segment, place] if words[segment, place] >= 0 else size
        of_tile = rows[segment, first : first + weights.shape[2]]
        room = np.empty(size + 1, dtype=np.float32)
        for head in range(weights.shape[1]):
            _one_map(weights[segment, head], of_tile, slots, largest, room, out[segment, head])


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
