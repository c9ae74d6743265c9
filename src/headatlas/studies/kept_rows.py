"""The rows of all heads of a batch, kept until every layer is seen, for what compares heads across layers.

They stay within MOST_KEPT bytes: batches are made no larger (`most_pairs`), and a segment too long for that even alone
(2,048 tokens and 32 heads, say) is kept with as many of its rows as fit, evenly spread. They are copied, without
padding, to memory that is used again for the next batch: a layer's maps can go while they are still in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.segments import Segment
from headatlas.models.stacks import HeadShape
from headatlas.models.tiles import Tile
from headatlas.statistics.kernels.threads import one_thread
from headatlas.studies.reductions import Reduction

MOST_KEPT = 1 << 29  # bytes of maps


def most_pairs(heads: int) -> int:
    """How many pairs of tokens, padding included, a batch may have within MOST_KEPT bytes of float32 maps."""
    return MOST_KEPT // (4 * heads)


def rows_compared(length: int, heads: int) -> NDArray[np.int64]:
    """Which rows of a segment to compare: all where they fit, else as many as do, evenly spread."""
    fitting = max(1, most_pairs(heads) // length)
    if length <= fitting:
        return np.arange(length)
    return (np.arange(fitting) * length + length // 2) // fitting


class KeptRows:
    """For every segment of a batch the rows of all heads to be compared, filled in layer by layer."""

    def __init__(self, heads: int) -> None:
        self._heads = heads
        self._memory = torch.empty(0)
        self._of: tuple[Segment, ...] | None = None
        self._segments: list[Tensor] = []

    def keep(self, weights: Tensor, batch: Batch, first: int) -> None:
        """Take over the rows of some heads, the first of them of that number. weights: [B, H, T, T]"""
        self.keep_tile(Tile(weights), batch, first)

    def keep_tile(self, tile: Tile, batch: Batch, first: int) -> None:
        """Take over the rows of a tile of a layer, whose first head is of that number."""
        with one_thread(), torch.no_grad():
            if batch.segments is not self._of:  # the same batch may come from several devices, layer by layer
                self._of, self._segments = batch.segments, self._places(tile.weights, batch)
            heads = slice(first + tile.heads.start, first + tile.heads.stop)
            for place, maps in enumerate(tile.weights, tile.segment):
                rows, length = self._segments[place], len(batch.segments[place])
                compared = rows_compared(length, self._heads)
                start, end = np.searchsorted(compared, [tile.rows.start, tile.rows.stop])
                columns = slice(tile.columns.start, min(tile.columns.stop, length))
                if len(compared) == length:
                    chosen = maps[:, start - tile.row : end - tile.row]
                else:
                    chosen = maps[:, torch.from_numpy(compared[start:end] - tile.row).to(maps.device)]
                kept = rows[start:end, heads]
                kept[..., columns] = chosen[..., : columns.stop - columns.start].transpose(0, 1)
                kept[..., : columns.start], kept[..., columns.stop :] = 0, 0

    def take(self) -> list[Tensor]:
        """The rows of every segment, [Q, H, K], good until more are kept; the next batch begins anew."""
        taken, self._segments, self._of = self._segments, [], None
        return taken

    def _places(self, weights: Tensor, batch: Batch) -> list[Tensor]:
        """Where each segment's rows go, one after another in the memory, which grows where it must."""
        lengths = [len(segment) for segment in batch.segments]
        shapes = [(len(rows_compared(length, self._heads)), self._heads, length) for length in lengths]
        ends = list(accumulate(int(np.prod(shape)) for shape in shapes))
        fits = len(self._memory) >= ends[-1] and self._memory.dtype == weights.dtype
        if not fits or self._memory.device != weights.device:
            with torch.inference_mode(False):
                self._memory = torch.empty(ends[-1], dtype=weights.dtype, device=weights.device)
        starts = [0, *ends]
        return [self._memory[start:end].view(shape) for start, end, shape in zip(starts, ends, shapes, strict=False)]


@dataclass(frozen=True)
class KeepRows(Reduction):
    """Keeps the rows of all layers of a batch. rows: where; shape: of the heads."""

    rows: KeptRows
    shape: HeadShape

    def start(self, layer: int, batch: Batch, like: Tensor) -> int:
        return self.shape.first_heads[layer]

    def add(self, sums: int, tile: Tile, batch: Batch) -> None:
        self.rows.keep_tile(tile, batch, sums)
