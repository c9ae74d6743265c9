"""The CPU kernel of the attention-and-words probe: each pair's attention is read once and serves both directions.

The work of a pair is two short dot products, so that tensor operations over all pairs spend their time on copies. Words
of a sentence are scored without its padding; a sentence's numbers do not depend on the batch it came with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from headatlas.statistics.kernels import Floats, Integers
from headatlas.statistics.kernels.threads import numba_threads

SMALL = 500_000  # numbers of attention; less work than this is not worth a second thread


class PairScores(torch.autograd.Function):
    """Scores of words for words, [B, W, W], differentiable in what multiplies the attention."""

    @staticmethod
    def forward(context: Any, maps: Tensor, sizes: Tensor, as_dependent: Tensor, as_candidate: Tensor) -> Tensor:
        """maps: [B, W, W, A] float32 on the CPU; sizes: [B]; as_dependent, as_candidate: [B, W, 2A]."""
        context.save_for_backward(maps, sizes)
        out = np.zeros(maps.shape[:3], dtype=np.float32)
        parts = (part.detach().contiguous().numpy() for part in (as_dependent, as_candidate))
        with numba_threads(maps.numel() >= SMALL):
            _scores(maps.numpy(), sizes.numpy(), *parts, out)
        return torch.from_numpy(out)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[None, None, Tensor, Tensor]:
        """The gradient to both parts."""
        maps, sizes = context.saved_tensors
        shape = (*maps.shape[:2], 2 * maps.shape[3])
        parts = (np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32))
        with numba_threads(maps.numel() >= SMALL):
            _gradients(maps.numpy(), sizes.numpy(), gradient.contiguous().numpy(), *parts)
        return None, None, torch.from_numpy(parts[0]), torch.from_numpy(parts[1])


@njit(cache=True, parallel=True, fastmath={"reassoc", "contract"})  # type: ignore[untyped-decorator]
def _scores(maps: Floats, sizes: Integers, as_dependent: Floats, as_candidate: Floats, out: Floats) -> None:
    """The attention from word j to word i counts for i as the head of j, and for j as the head of i."""
    heads = maps.shape[3]
    for sentence in prange(len(sizes)):
        for j in range(sizes[sentence]):
            up_j, down_j = as_dependent[sentence, j, :heads], as_candidate[sentence, j, heads:]
            for i in range(sizes[sentence]):
                row = maps[sentence, j, i]
                up_i, down_i = as_candidate[sentence, i, :heads], as_dependent[sentence, i, heads:]
                up = down = np.float32(0)
                for k in range(heads):
                    up += row[k] * (up_j[k] + up_i[k])
                    down += row[k] * (down_j[k] + down_i[k])
                out[sentence, j, i] += up
                out[sentence, i, j] += down


@njit(cache=True, parallel=True)  # type: ignore[untyped-decorator]
def _gradients(maps: Floats, sizes: Integers, gradient: Floats, to_dependent: Floats, to_candidate: Floats) -> None:
    heads = maps.shape[3]
    for sentence in prange(len(sizes)):
        for j in range(sizes[sentence]):
            up_j, down_j = to_dependent[sentence, j, :heads], to_candidate[sentence, j, heads:]
            for i in range(sizes[sentence]):
                row = maps[sentence, j, i]
                _add(up_j, to_candidate[sentence, i, :heads], gradient[sentence, j, i], row)
                _add(down_j, to_dependent[sentence, i, heads:], gradient[sentence, i, j], row)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _add(first: Floats, second: Floats, factor: np.float32, row: Floats) -> None:
    for k in range(len(row)):
        grown = factor * row[k]
        first[k] += grown
        second[k] += grown
