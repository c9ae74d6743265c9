"""What a store holds of each example: its tokens and words, and its maps between words or between tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.choices import Level
from headatlas.encoding.segments import Segment
from headatlas.encoding.word_segments import ParsedSegment

SPECIAL_UNITS = 2  # after the words of a word-level map: [CLS], and all [SEP] together


@dataclass(frozen=True)
class StoredExample:
    """One input of the model, as far as studies and probes need to know it."""

    id: str
    document: str
    tokens: tuple[str, ...]  # of the model, special ones included
    kinds: NDArray[np.uint8]  # [T], a TokenKind
    word_of: NDArray[np.int32]  # [T], word of a token, SPECIAL where none
    words: tuple[str, ...] | None = None  # where the input has words of its own
    heads: NDArray[np.int64] | None = None  # [W], index of each word's head, or ROOT
    relations: tuple[str, ...] | None = None  # [W]

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class WordMaps:
    """One sentence's maps between words, of all heads of all layers in their order."""

    id: str
    document: str
    words: tuple[str, ...]
    heads: NDArray[np.int64]  # [W], index of each word's head, or ROOT
    relations: tuple[str, ...]  # [W]
    maps: NDArray[np.floating]  # [A, W, W], A heads layer by layer; to a word the sum over its tokens, from it the mean
    to_special: NDArray[np.floating]  # [A, W, 2], to [CLS], and to all [SEP] together; 0 where the model has none
    from_special: NDArray[np.floating]  # [A, 2, W], from [CLS], and the mean from the [SEP]s
    states: NDArray[np.floating] | None  # [L + 1, W, D], mean over a word's tokens; None unless kept


@dataclass(frozen=True)
class TokenMaps:
    """One input's maps between tokens."""

    example: StoredExample
    maps: NDArray[np.floating]  # [L, H, T, T]; zero where a layer has fewer heads than another
    states: NDArray[np.floating] | None  # [L + 1, T, D]; None unless kept


@dataclass(frozen=True)
class Tensors:
    """One example's numbers as they are stored: word-level maps have [CLS] and [SEP] after the words."""

    maps: NDArray[np.floating] | None  # [A, n, n], n = W + 2 or T; None unless kept
    states: NDArray[np.floating] | None  # [L + 1, W or T, D]


def units_of(example: StoredExample, level: Level) -> int:
    """Rows of the example's maps: n."""
    return len(example) if example.words is None or level == "tokens" else len(example.words) + SPECIAL_UNITS


def example_of(
    segment: Segment, tokens: Sequence[str], kinds: NDArray[np.uint8], relations: Sequence[str]
) -> StoredExample:
    """A segment as the store knows it. relations: the sample's, where the segment has a tree."""
    parsed = segment if isinstance(segment, ParsedSegment) else None
    return StoredExample(
        id=segment.id,
        document=segment.id.rpartition(".")[0],
        tokens=tuple(tokens),
        kinds=kinds,
        word_of=segment.words,
        words=parsed.text if parsed else None,
        heads=parsed.heads.astype(np.int64) if parsed else None,
        relations=tuple(relations[number] for number in parsed.relations) if parsed else None,
    )


def word_maps(
    maps: NDArray[np.floating],
    states: NDArray[np.floating] | None,
    name: str,
    document: str,
    words: tuple[str, ...],
    heads: NDArray[np.integer],
    relations: tuple[str, ...],
) -> WordMaps:
    """The record of a sentence from its numbers as they are stored: views, nothing is copied."""
    size = len(words)
    return WordMaps(
        id=name,
        document=document,
        words=words,
        heads=heads.astype(np.int64),
        relations=relations,
        maps=maps[:, :size, :size],
        to_special=maps[:, :size, size:],
        from_special=maps[:, size:, :size],
        states=states,
    )
