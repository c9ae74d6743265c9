"""Where do words look that a head has nothing to say about? Attention to special tokens, by the word that attends.

If attention to ``[SEP]`` is how a head does nothing (paper, section 3.2), words that do not stand in the head's
relation should rest there more than words that do. So for every head: the mean attention to all special tokens from
words of a part of speech, from dependents of a relation (where a clitic stands in for a possessor, from the clitic),
and from words that have such a dependent.

Intervals need sums over units of the corpus, and the sentences of a document may lie in different batches. Every unit
therefore belongs to one of 64 groups by its name, and sums are kept by group. Groups are independent as units are, so
the spread of the groups' sums gives the error of a mean and of a difference of two means, with Student's t for as many
groups as occur.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.special import stdtrit
from torch import Tensor

from headatlas.corpora.sampling import stable_hash
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.word_segments import NO_CLASS, ParsedSegment
from headatlas.statistics.resampling import CONFIDENCE
from headatlas.studies.state import State, Stateful
from headatlas.tables import CONTROL, ONE_HEAD, Key, Table, Value, interval, records

GROUPS = 64
ALL, TAG, DEPENDENT, GOVERNOR = "all", "part_of_speech", "dependent", "governor"
BY = Key(
    "by",
    "which words attend: all; of a part_of_speech; the dependent of a relation; the governor, which has such a "
    "dependent",
)
RESTING = Table(
    "resting",
    "How much attention goes to special tokens, by part of speech and relation of the word that attends?",
    (
        *ONE_HEAD,
        BY,
        Key("word", "the part of speech or the relation; all for all words"),
        Value("value", "mean attention to all special tokens", "share"),
        *interval("its 95 % interval, over 64 groups of what is resampled elsewhere", "value"),
        Value("count", "words that attend", "count"),
        Value("others", "the same mean from all other words; empty if there are none", "share"),
        Value("difference", "others minus value: how much more the other words rest there", "number"),
        *interval("its 95 % interval", "difference", "difference_low", "difference_high"),
        Value(CONTROL, "the same difference of the network with random weights; empty if it was not run", "number"),
    ),
    section="3.2, footnote 3",
    card=None,
    why_not="it explains a survey's relations and is not a measure of its own",
)
Floats = NDArray[np.float64]


class Resting(Stateful):
    """Sums of attention to special tokens, by group of units, kind of word and head."""

    total = State(GROUPS, "kinds", "heads")
    count = State(GROUPS, "kinds", dtype=np.int64)

    def __init__(self, relations: Sequence[str], classes: Sequence[str], heads: Sequence[tuple[int, int]]) -> None:
        self._heads = list(heads)
        by = [(ALL, ALL), *((TAG, name) for name in classes)]
        by += [(kind, name) for kind in (DEPENDENT, GOVERNOR) for name in relations]
        self._kinds = by
        self._first_dependent = 1 + len(classes)
        self._first_governor = self._first_dependent + len(relations)
        self.reset({"kinds": len(by), "heads": len(self._heads)})

    def add(
        self, attention: Tensor, segments: Sequence[ParsedSegment], has_tokens: NDArray[np.bool_], units: Sequence[str]
    ) -> None:
        """Add the words of sentences in reading order. attention: [N, heads]; has_tokens: [N]; units: by sentence."""
        words, slots, start = [], [], 0
        for segment, unit in zip(segments, units, strict=True):
            word, kind = self._memberships(segment)
            words.append(word + start)
            slots.append(kind + len(self._kinds) * (stable_hash(unit) % GROUPS))
            start += segment.size
        word, slot = np.concatenate(words), np.concatenate(slots)
        word, slot = word[has_tokens[word]], slot[has_tokens[word]]
        sums = torch.from_numpy(self.total).view(-1, len(self._heads))
        sums.index_add_(0, torch.from_numpy(slot), attention.to("cpu", torch.float64)[torch.from_numpy(word)])
        self.count += np.bincount(slot, minlength=self.count.size).reshape(self.count.shape)

    def _memberships(self, segment: ParsedSegment) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each word of a sentence beside each kind that it is of, once: two of [pairs]."""
        kinds = len(self._kinds)
        first_places = np.arange(segment.size) * kinds  # a word and its kind as one number
        linked = np.flatnonzero(segment.heads != ROOT)
        relations = segment.relations[linked].astype(np.int64)
        pairs = [
            first_places,
            segment.counts_as[linked] * kinds + self._first_dependent + relations,
            segment.heads[linked] * kinds + self._first_governor + relations,
        ]
        if len(segment.classes):
            tagged = segment.classes != NO_CLASS
            pairs.append((first_places + 1 + segment.classes)[tagged])
        return np.divmod(np.unique(np.concatenate(pairs)), kinds)

    def frame(self, control: Resting | None = None) -> pd.DataFrame:
        """One row per head and kind of word that occurs. control: sums of the network with random weights."""
        table = self._without_control()
        table[CONTROL] = np.nan if control is None else control._without_control()["difference"]
        return table

    def _without_control(self) -> pd.DataFrame:
        total, count = self.total, self.count.astype(np.float64)
        frames = []
        heads = pd.DataFrame(self._heads, columns=["layer", "head"])
        for number, (by, word) in enumerate(self._kinds):
            of_kind, others = (
                (total[:, number], count[:, number]),
                (total[:, 0] - total[:, number], count[:, 0] - count[:, number]),
            )
            if not of_kind[1].sum():
                continue
            value, error = mean_and_errors(*of_kind)
            low, high = _interval(value, error)
            rest, rest_error = mean_and_errors(*others) if others[1].sum() else (np.full_like(value, np.nan), error)
            difference_low, difference_high = _interval(rest - value, rest_error - error)
            frames.append(
                heads.assign(
                    by=by, word=word, value=value, low=np.clip(low, 0, 1), high=np.clip(high, 0, 1),
                    count=int(of_kind[1].sum()), others=rest, difference=rest - value,
                    difference_low=difference_low, difference_high=difference_high,
                )
            )  # fmt: skip
        named = [name for name in RESTING.names if name != CONTROL]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=named)


def mean_and_errors(total: Floats, count: Floats) -> tuple[Floats, Floats]:
    """The mean of each head, and how much each group moves it. total: [groups, H]; count: [groups] -> [H], [groups, H].

    A group moves a ratio of sums by its own sum less the mean times its count, over the whole count.
    """
    whole = count.sum()
    mean = total.sum(0) / whole
    return mean, (total - mean * count[:, None]) / whole


def _interval(value: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """The 95 % interval of values [H] from what each group moves them by, [groups, H]; NaN with one group."""
    present = errors[np.abs(errors).any(1)]
    if len(present) < 2:
        return np.full_like(value, np.nan), np.full_like(value, np.nan)
    spread = np.sqrt(np.square(present).sum(0) * len(present) / (len(present) - 1))
    half = stdtrit(len(present) - 1, (1 + CONFIDENCE) / 2) * spread
    return value - half, value + half


def rests_elsewhere(resting: pd.DataFrame, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The row of `resting` for the words that attend in a row of `dependency_best`; None if there is none."""
    by = DEPENDENT if row["direction"] == "dependent_to_head" else GOVERNOR
    same = resting[(resting["by"] == by) & (resting["word"] == row["relation"])]
    same = same[(same["layer"] == row["layer"]) & (same["head"] == row["head"])]
    return next(iter(records(same.dropna(subset=["difference"]))), None)
