"""From attention between tokens to attention between words (paper, section 4.1).

Attention *to* a word is the sum over its tokens. Attention *from* it is the mean over its tokens (the paper), that of
its first token (the mode the released script runs with), or, as that script's third mode, the largest of its tokens'
weights to each word, scaled so that the row sums to 1 again. With mean and first a row keeps the sum its tokens' rows
had: 1, or less where a learned sink takes a share.

Special tokens are not words, but what goes to them and comes from them is kept: each counts as one more word after the
last, so nothing of a row is lost. A word without tokens has a row and a column of zeros.

`predictions` makes a head a classifier without training: which other word does a word attend to most (section 4.2)?
Two directions. *Dependent to head*: the word that a word attends to most is predicted to be its head (row argmax).
*Head to dependent*: the word that attends to a word most is predicted to be its head (column argmax). A word is never
its own candidate. Where all candidates have attention exactly 0 there is no prediction, rather than whichever word
comes first: so for the first word of a causal model, for a word without tokens and for a word alone in its sentence.
Of candidates with the same attention the first in the sentence is predicted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar, get_args

import numpy as np
import torch
from torch import Tensor

from headatlas.choices import FromTokens as FromTokens
from headatlas.encoding.batches import Batch
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import WordSegment
from headatlas.errors import SettingError
from headatlas.models.tiles import Tile, whole_tile
from headatlas.statistics.kernels.threads import one_thread

FROM_TOKENS: tuple[str, ...] = get_args(FromTokens)
SegmentKind = TypeVar("SegmentKind", bound=Segment)
PADDING = -1  # in `WordIndex.index`: the token belongs to nothing
NO_PREDICTION = -1


@dataclass(frozen=True)
class WordIndex:
    """Which word each token of a batch belongs to; special tokens are numbered after the words."""

    index: Tensor  # [B, T] int64, below words + special, or PADDING
    words: int  # of the longest segment: columns of words in the maps
    special: int  # most special tokens a segment has
    has_tokens: Tensor  # [B, words + special] bool: words, never special tokens, that have at least one

    @property
    def size(self) -> int:
        """Rows and columns of the maps: words, then special tokens."""
        return self.words + self.special

    def to(self, device: torch.device) -> WordIndex:
        """The same on another device."""
        return replace(self, index=self.index.to(device), has_tokens=self.has_tokens.to(device))


def segments_of(batch: Batch, kind: type[SegmentKind]) -> list[SegmentKind]:
    """The segments of a batch, which must all be of one kind."""
    segments = [segment for segment in batch.segments if isinstance(segment, kind)]
    if len(segments) < len(batch.segments):
        raise TypeError(f"The batch has segments that are not of the kind {kind.__name__}.")
    return segments


def word_index(batch: Batch) -> WordIndex:
    """The words of a batch of `WordSegment`s, on the batch's device."""
    segments = segments_of(batch, WordSegment)
    words = max(segment.size for segment in segments)
    special = max(int((segment.words == SPECIAL).sum()) for segment in segments)
    index = np.full(batch.mask.shape, PADDING, dtype=np.int64)
    has_tokens = np.zeros((len(segments), words + special), dtype=bool)
    for row, segment in enumerate(segments):
        of_special = segment.words == SPECIAL
        index[row, : len(segment)] = np.where(of_special, words + np.cumsum(of_special) - 1, segment.words)
        has_tokens[row, segment.words[~of_special]] = True
    device = batch.mask.device
    return WordIndex(torch.from_numpy(index).to(device), words, special, torch.from_numpy(has_tokens).to(device))


def no_word_rows(rows: int, words: int, weights: Tensor) -> Tensor:
    """Sums before anything was added, for maps like `weights` [B, H, ...]: [B, H, rows, words], float32 at least."""
    dtype = weights.dtype if weights.dtype == torch.float64 else torch.float32
    return torch.zeros(*weights.shape[:2], rows, words, dtype=dtype, device=weights.device)


def word_attention(weights: Tensor, index: Tensor, size: int, how: FromTokens = "mean") -> Tensor:
    """Attention between words: [B, H, size, size], float32 at least, from whole maps [B, H, T, T].

    index: [B, T], the word of each token, below `size`; negative for tokens that count nowhere.
    """
    index = index.to(weights.device)
    sums = no_word_rows(size, size, weights)
    add_word_rows(sums, whole_tile(weights, tuple(index.shape)), index, index, how)
    return scale_word_rows(sums, index, how)


def word_attention_torch(weights: Tensor, index: Tensor, size: int, how: FromTokens = "mean") -> Tensor:
    """The same with tensor operations, which can be differentiated."""
    sums = no_word_rows(size, size, weights)
    rows = torch.where(_is_first(index), index, PADDING) if how == "first" else index
    add_word_rows_torch(sums, whole_tile(weights, tuple(index.shape)), rows, index, how)
    return scale_word_rows(sums, index, how)


def add_word_rows(sums: Tensor, tile: Tile, rows: Tensor, words: Tensor, how: FromTokens) -> None:
    """Add the rows of a tile to attention from words to words, [B, H, N, W].

    rows: [B, T], the row of the sums that each token adds to. words: [B, T], the word that each token belongs to, below
    W. Both are negative for tokens that count nowhere.
    """
    if how not in FROM_TOKENS:
        raise SettingError(f"Attention from a split word can be {', '.join(FROM_TOKENS)}, not {how!r}.")
    tile.check(words, sums)
    weights, some = tile.weights, tile.segments
    if how == "first":
        rows = torch.where(_is_first(rows), rows, PADDING)
    if weights.device.type == "cpu" and weights.dtype != torch.float64:
        from headatlas.statistics.kernels.words import add_word_rows_cpu

        add_word_rows_cpu(sums[some, tile.heads], weights, tile.row, tile.column, rows[some], words[some], how)
    else:
        add_word_rows_torch(sums[some, tile.heads], tile, rows[some, tile.rows], words[some, tile.columns], how)


def add_word_rows_torch(sums: Tensor, tile: Tile, rows: Tensor, words: Tensor, how: FromTokens) -> None:
    """The same with tensor operations, for any device and dtype; sums, rows and words are those of the tile."""
    weights = tile.weights.to(sums.dtype).masked_fill((rows < 0)[:, None, :, None], 0)  # padding may hold anything
    to_words = weights @ _members(words, sums.shape[3], sums.dtype)[:, None]  # [S, H, R, W]
    if how == "max":
        slots = rows.clamp_min(0)[:, None, :, None].expand(to_words.shape)  # those without a row add 0
        sums.scatter_reduce_(2, slots, to_words, "amax")
    else:
        sums += _members(rows, sums.shape[2], sums.dtype).transpose(1, 2)[:, None] @ to_words


def scale_word_rows(sums: Tensor, rows: Tensor, how: FromTokens) -> Tensor:
    """Attention from words, once all rows were added: the mean of a word's tokens; with "max", scaled to sum 1."""
    with one_thread():
        if how == "mean":
            counts = torch.zeros(len(sums), sums.shape[2] + 1, dtype=sums.dtype, device=sums.device)
            counts.scatter_add_(1, torch.where(rows < 0, sums.shape[2], rows), torch.ones_like(rows, dtype=sums.dtype))
            sums /= counts[:, None, :-1, None].clamp_min(1)
        elif how == "max":
            sums /= sums.sum(-1, keepdim=True).clamp_min(torch.finfo(sums.dtype).tiny)
        return sums


def _members(index: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """Which of `size` words each token belongs to, as 0 and 1: [S, T, size]."""
    return (index[..., None] == torch.arange(size, device=index.device)).to(dtype)


def _is_first(rows: Tensor) -> Tensor:
    """Whether each token is the first of its word, whose tokens need not follow each other. [B, T]"""
    ordered, order = rows.sort(stable=True, dim=1)
    first = torch.ones_like(rows, dtype=torch.bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return torch.zeros_like(first).scatter_(1, order, first)


def predictions(maps: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """Predicted words by row and by column argmax: two of [B, H, W] int32, NO_PREDICTION where there is none.

    maps: [B, H, W, W], from `word_attention`. candidates: [B, W] bool, which words predict and can be predicted.
    """
    if maps.device.type == "cpu" and maps.dtype == torch.float32:
        from headatlas.statistics.kernels.words import predictions_cpu

        return predictions_cpu(maps, candidates)
    return predictions_torch(maps, candidates)


def predictions_torch(maps: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """The same with tensor operations, for any device and dtype."""
    pairs = candidates[:, :, None] & candidates[:, None, :]  # [B, W, W]
    pairs = pairs & ~torch.eye(pairs.shape[-1], dtype=torch.bool, device=pairs.device)
    maps = maps.masked_fill(~pairs[:, None], 0)
    return _most_attended(maps), _most_attended(maps.transpose(-1, -2))


def _most_attended(maps: Tensor) -> Tensor:
    weight, place = maps.max(-1)  # the first of equals
    return place.masked_fill(weight <= 0, NO_PREDICTION).int()
