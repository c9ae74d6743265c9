"""What studies need of a layer's maps, added up from tiles, so that no map need exist as a whole.

A study names its reductions (`Study.reductions`), the engine computes each once for all studies that name it, and the
study finds the results in the `LayerMap` that it sees. A study that names none sees whole maps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from headatlas.choices import FromTokens
from headatlas.encoding.batches import Batch
from headatlas.encoding.template import SPECIAL
from headatlas.models.tiled import MOST_NUMBERS, MOST_ROWS, DroppedTiles, Path, cut_rows, is_swept
from headatlas.models.tiles import Tile, whole_tile
from headatlas.statistics.received import add_received, mean_received, no_received
from headatlas.statistics.surface import add_surface, add_surface_of_scores, no_surface
from headatlas.statistics.words import PADDING, add_word_rows, no_word_rows, scale_word_rows, word_index


class Reduction(ABC):
    """Something that is added up from the tiles of a layer.

    Two reductions that are equal are computed once; so a reduction is a frozen dataclass of its settings, or belongs to
    one study.
    """

    @abstractmethod
    def start(self, layer: int, batch: Batch, like: Tensor) -> Any:
        """Make empty sums.

        Args:
            layer: The number of the layer, from 0.
            batch: The batch, on the layer's device.
            like: A tensor [B, H, ...] with the heads, the device and the dtype of the layer.
        """

    @abstractmethod
    def add(self, sums: Any, tile: Tile, batch: Batch) -> None:
        """Add a tile, or keep what is needed of it: its memory is used again."""

    def finish(self, sums: Any, batch: Batch) -> Any:
        """Make the result from the sums of all tiles."""
        return sums

    def of_maps(self, layer: int, weights: Tensor, batch: Batch, mask: Tensor | None = None) -> Any:
        """The result from whole maps [B, H, T, T]."""
        sums = self.start(layer, batch, weights)
        self.add(sums, whole_tile(weights, tuple(batch.mask.shape), mask), batch)
        return self.finish(sums, batch)


@dataclass(frozen=True)
class Surface(Reduction):
    """The fused sums of `statistics.surface.Sum`, with smoothed entropies: [B, H, len(Sum)]."""

    smoothing: float = 0.0

    def start(self, layer: int, batch: Batch, like: Tensor) -> Tensor:
        return no_surface(batch, like.shape[1], like.device)

    def add(self, sums: Tensor, tile: Tile, batch: Batch) -> None:
        add_surface(sums, tile, batch, self.smoothing)


@dataclass(frozen=True)
class Received(Reduction):
    """The attention that each token receives, in the forms of `statistics.received`: [B, H, 4, T]."""

    causal: bool

    def start(self, layer: int, batch: Batch, like: Tensor) -> Tensor:
        return no_received(batch.mask, like.shape[1], like.device, like.dtype)

    def add(self, sums: Tensor, tile: Tile, batch: Batch) -> None:
        add_received(sums, tile, batch.mask, batch.once(text_tokens))

    def finish(self, sums: Tensor, batch: Batch) -> Tensor:
        return mean_received(sums, batch.mask, batch.once(text_tokens), self.causal)


def text_tokens(batch: Batch) -> Tensor:
    """Which tokens of a batch are neither special nor padding: [B, T] bool."""
    text = np.zeros(tuple(batch.mask.shape), dtype=np.bool_)
    for row, segment in enumerate(batch.segments):
        text[row, : len(segment)] = segment.words != SPECIAL
    return torch.from_numpy(text).to(batch.mask.device)


@dataclass(frozen=True)
class Words(Reduction):
    """The attention between words and special tokens, of `statistics.words`: [B, H, W, W]."""

    how: FromTokens = "mean"

    def start(self, layer: int, batch: Batch, like: Tensor) -> Tensor:
        size = batch.once(word_index).size
        return no_word_rows(size, size, like)

    def add(self, sums: Tensor, tile: Tile, batch: Batch) -> None:
        index = batch.once(word_index).index
        add_word_rows(sums, tile, index, index, self.how)

    def finish(self, sums: Tensor, batch: Batch) -> Tensor:
        return scale_word_rows(sums, batch.once(word_index).index, self.how)


class RowsAsked(NamedTuple):
    """Some words of each segment, whose rows of the word maps are asked for."""

    most: int  # of a segment
    numbers: Tensor  # [B, W], the row of each word, from 0 in their order, or PADDING
    of_tokens: Tensor  # [B, T], the row that each token adds to, or PADDING


def rows_of_words(batch: Batch, words: Sequence[Collection[int]]) -> RowsAsked:
    """The rows of some words of each segment of a batch, on its device."""
    index = batch.once(word_index)
    numbers = np.full((len(words), index.size), PADDING, dtype=np.int64)
    for row, asked in zip(numbers, words, strict=True):
        row[sorted(asked)] = np.arange(len(asked))
    of_words = torch.from_numpy(numbers).to(index.index.device)
    of_tokens = torch.where(index.index < 0, PADDING, of_words.gather(1, index.index.clamp_min(0)))
    return RowsAsked(max(map(len, words)), of_words, of_tokens)


@dataclass(frozen=True)
class WordRows(Reduction):
    """The rows of some words alone, [B, H, N, W], so that long documents fit. asked: makes `RowsAsked` of a batch."""

    how: FromTokens
    asked: Callable[[Batch], RowsAsked]

    def start(self, layer: int, batch: Batch, like: Tensor) -> Tensor:
        return no_word_rows(batch.once(self.asked).most, batch.once(word_index).size, like)

    def add(self, sums: Tensor, tile: Tile, batch: Batch) -> None:
        add_word_rows(sums, tile, batch.once(self.asked).of_tokens, batch.once(word_index).index, self.how)

    def finish(self, sums: Tensor, batch: Batch) -> Tensor:
        return scale_word_rows(sums, batch.once(self.asked).of_tokens, self.how)


class ReducedLayer(DroppedTiles):
    """Adds one layer's tiles to reductions, and hands over the results.

    done: gets the results. failed: gets a reduction that raised, and the error; without it, the error is raised.
    """

    def __init__(
        self,
        layer: int,
        batch: Batch,
        like: Tensor,
        reductions: Iterable[Reduction],
        done: Callable[[dict[Reduction, Any]], None] | None = None,
        failed: Callable[[Reduction, Exception], None] | None = None,
    ) -> None:
        super().__init__([len(segment) for segment in batch.segments])
        self._batch, self._done, self._failed = batch, done, failed
        self._sums: dict[Reduction, Any] = dict.fromkeys(reductions)
        self._sums = self._of_each(lambda reduction, _: reduction.start(layer, batch, like))

    def add(self, tile: Tile) -> None:
        self._of_each(lambda reduction, sums: reduction.add(sums, tile, self._batch))

    def softmax(self, tile: Tile, start: Tensor, end: Tensor, scale: float) -> None:
        """Make weights of scores, in one sweep with the surface sums where there is one; add them to all else."""
        if not is_swept(tile.weights):
            super().softmax(tile, start, end, scale)
            self.add(tile)
            return
        swept = Surface()
        add_surface_of_scores(tile, start, end, scale, self._batch, self._sums.get(swept))
        self._of_each(lambda reduction, sums: None if reduction == swept else reduction.add(sums, tile, self._batch))

    def finish(self, path: Path) -> None:
        if self._done:
            self._done(self.results())

    def results(self) -> dict[Reduction, Any]:
        """What was added up."""
        return self._of_each(lambda reduction, sums: reduction.finish(sums, self._batch))

    def _of_each(self, act: Callable[[Reduction, Any], Any]) -> dict[Reduction, Any]:
        """Let every reduction act; one that fails is left out from now on."""
        made: dict[Reduction, Any] = {}
        for reduction, sums in list(self._sums.items()):
            try:
                made[reduction] = act(reduction, sums)
            except Exception as error:
                if self._failed is None:
                    raise
                self._failed(reduction, error)
                del self._sums[reduction]
        return made


@dataclass(frozen=True)
class UniformHead:
    """Makes of a batch on the CPU the results of one head that attends evenly to all tokens in reach.

    In a causal model those are the tokens up to a row's own place.
    """

    causal: bool
    reductions: tuple[Reduction, ...]

    def __call__(self, batch: Batch) -> dict[Reduction, Any]:
        tokens = batch.mask.shape[1]
        layer = ReducedLayer(0, batch, torch.empty(len(batch.segments), 1), self.reductions)
        for some, rows in cut_rows(layer.lengths, 1, 1, tokens, MOST_ROWS, MOST_NUMBERS):
            places = torch.arange(rows.start, rows.stop)
            lengths = batch.lengths[some, None]
            end = (places + 1 if self.causal else torch.tensor(tokens)).minimum(lengths) * (places < lengths)
            scores = torch.zeros(some.stop - some.start, 1, len(places), rows.stop if self.causal else tokens)
            layer.softmax(Tile(scores, segment=some.start, row=rows.start), torch.zeros_like(end), end, 1.0)
        return layer.results()
