"""How far do rules get that know parts of speech? A bar for claims about heads, which are not told any.

For a relation: the nearest word of a class on one side, such as the nearest verb to the left. For the readings of
*all*: the word at the offset that suits the dependent's own class best. Class, side and offsets are chosen on one half
of the documents and scored on the other, both ways, as heads are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.word_segments import NO_CLASS, ParsedSegment
from headatlas.statistics.tally import FOLDS
from headatlas.studies.state import State, Stateful

SIDES = ("left", "right")
BY_OWN_CLASS = "offset by the word's own part of speech"


@dataclass(frozen=True)
class TagRule:
    """The best rule for a relation: its name, and its accuracy held out; NaN where a half has no word."""

    name: str
    accuracy: float


NO_RULE = TagRule("", math.nan)


class TagRules(Stateful):
    """How often each rule is right, by category (relation), and half of the documents."""

    nearest_right = State("categories", FOLDS, "classes", len(SIDES), dtype=np.int32)
    offsets_right = State("categories", FOLDS, "own_classes", "offsets", dtype=np.int32)

    def __init__(self, classes: Sequence[str], categories: int, offsets: int) -> None:
        self._classes = tuple(classes)
        own_classes = len(classes) + 1  # the last one: words without a class
        lengths = {"categories": categories, "offsets": offsets, "classes": len(classes), "own_classes": own_classes}
        self.reset(lengths)

    def add(
        self,
        segments: Sequence[ParsedSegment],
        category: NDArray[np.int64],
        folds: Sequence[int],
        offsets_right: NDArray[np.bool_],
    ) -> None:
        """Add the words of sentences in reading order.

        category: [N]; folds: the half of each sentence; offsets_right: [N, offsets].
        """
        start = 0
        for segment, fold in zip(segments, folds, strict=True):
            of_words = slice(start, start + segment.size)
            start += segment.size
            if self._classes and len(segment.classes):
                own: NDArray[np.int64] = np.where(segment.classes == NO_CLASS, len(self._classes), segment.classes)
                np.add.at(self.offsets_right[:, fold], (category[of_words], own), offsets_right[of_words])
                right = nearest_of_class(segment, len(self._classes)) == segment.heads[:, None, None]
                np.add.at(self.nearest_right[:, fold], category[of_words], right)

    def nearest(self, category: int, counts: NDArray[np.integer]) -> TagRule:
        """The nearest word of the best class on the best side. counts: words in each half."""
        right = self.nearest_right[category]
        if not self._classes or not counts.all():
            return NO_RULE
        flat = right.reshape(len(right), -1)
        word_class, side = np.unravel_index(int(flat.sum(0).argmax()), right.shape[1:])
        where = f"nearest {self._classes[word_class]} to the {SIDES[side]}"
        return TagRule(where, _held_out(flat) / int(counts.sum()))

    def by_own_class(self, categories: Sequence[int], counts: NDArray[np.integer]) -> TagRule:
        """The best offset for each class of dependents, over several categories."""
        if not self._classes or not counts.all():
            return NO_RULE
        right = self.offsets_right[list(categories)].sum(0)  # [folds, classes, offsets]
        of_classes = (_held_out(right[:, word_class]) for word_class in range(right.shape[1]))
        return TagRule(BY_OWN_CLASS, sum(of_classes) / int(counts.sum()))


def nearest_of_class(segment: ParsedSegment, classes: int) -> NDArray[np.int64]:
    """The nearest word of each class to the left and right of the word that predicts: [words, classes, 2].

    -2 where there is none.
    """
    none = ROOT - 1
    of_class = segment.classes[:, None] == np.arange(classes)  # [W, C]
    words = np.arange(segment.size)[:, None]
    to_left = np.maximum.accumulate(np.where(of_class, words, none))
    to_right = np.minimum.accumulate(np.where(of_class, words, segment.size)[::-1])[::-1]
    edge = np.full((1, classes), none)
    before = np.concatenate([edge, to_left[:-1]])
    behind = np.concatenate([to_right[1:], edge])
    sides = np.stack([before, np.where(behind == segment.size, none, behind)], axis=-1)
    return np.asarray(sides[segment.counts_as])


def _held_out(right: NDArray[np.integer]) -> int:
    """How often the rule that is best on one half is right on the other, both ways. right: [2, rules]."""
    first, second = right
    return int(second[first.argmax()] + first[second.argmax()])
