"""Targets on spans as probes read them: the states of the tokens within spans, and attention between two spans.

Of a text only what its spans need is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.span_segments import TokenTarget
from headatlas.probes.probe import WINDOW_BYTES, Answers, Examples, Need
from headatlas.store.reading import Store

UNSEEN = -1  # as an answer: a label that no training target has


@dataclass(frozen=True)
class Labels:
    """The labels of a task, as numbers."""

    names: tuple[str, ...]  # sorted, those of the training targets
    several: bool  # whether a target may have several labels, or none
    negative: int | None  # the label that says there is nothing, if any
    counted: bool = True  # whether micro F1 counts that label like the others

    @property
    def uncounted(self) -> int | None:
        """The label that micro F1 does not count, if any."""
        return None if self.counted else self.negative

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each label."""
        return {name: number for number, name in enumerate(self.names)}

    def know(self, target: TokenTarget) -> bool:
        """Whether all labels of a target are among these."""
        return all(label in self.numbers for label in target.labels)

    def answers(self, targets: Iterable[TokenTarget]) -> NDArray[np.int64]:
        """Of single labels their numbers or UNSEEN [n]; of several 1 where a label is given [n, C]."""
        known = [[self.numbers.get(label, UNSEEN) for label in target.labels] for target in targets]
        if not self.several:
            return np.array([numbers[0] for numbers in known], dtype=np.int64)
        answers = np.zeros((len(known), len(self.names)), dtype=np.int64)
        for row, numbers in enumerate(known):
            answers[row, [number for number in numbers if number != UNSEEN]] = 1
        return answers


def labels_of(targets: Iterable[TokenTarget], negative: str | None, counted: bool = True) -> Labels:
    """The labels of training targets."""
    given = [target.labels for target in targets]
    names = tuple(sorted({label for labels in given for label in labels}))
    several = any(len(labels) != 1 for labels in given)
    return Labels(names, several, names.index(negative) if negative in names else None, counted)


@dataclass(frozen=True)
class SpanBatch:
    """The B targets of some texts. Each has S spans; M tokens lie within spans, of which N are different ones."""

    places: list[int]  # of the texts
    text: NDArray[np.int64]  # [B], which of the places a target belongs to
    answers: Tensor  # [T, B], or [T, B, C] where several labels are allowed; T is 1 if all trainings have the same
    weights: Tensor  # [T, B], how often each training counts a target; T is 1 if all count the same
    known: Tensor  # [B] bool, whether training shows all of a target's labels
    states: Tensor | None  # [L + 1, N, D]
    token: Tensor  # [M], into N
    span: Tensor  # [M], which span the token is in: the first spans of all targets, then the second ones
    pairs: Tensor | None  # [B, 2 A], attention of each head from the first span to the second, then back

    def __len__(self) -> int:
        return len(self.text)


@dataclass(frozen=True)
class _Layout:
    """Where a text's spans are among the tokens it needs."""

    tokens: NDArray[np.int64]  # [n], the different tokens within spans, in order
    token: NDArray[np.int64]  # [m], into n
    slot: NDArray[np.int64]  # [m], which span of its target
    target: NDArray[np.int64]  # [m]


class SpanTargets(Examples[SpanBatch]):
    """Texts of a store with the targets of one task."""

    def __init__(
        self,
        store: Store,
        numbers: Sequence[int],
        targets: Sequence[Sequence[TokenTarget]],
        labels: Labels,
        device: torch.device,
        memory_bytes: int = WINDOW_BYTES,
    ) -> None:
        """numbers: the texts' places in the store; targets: of each of them."""
        super().__init__(store, numbers, device, memory_bytes)
        self.targets, self.labels = targets, labels
        self.counts = np.array([len(of_text) for of_text in targets], dtype=np.int64)
        self.answers = [labels.answers(of_text) for of_text in targets]
        self.known = [np.array([labels.know(target) for target in of_text], dtype=np.bool_) for of_text in targets]
        self.spans = len(targets[0][0].spans)
        self.ids = [store.examples[number].id for number in numbers]
        self._layouts = [_layout(of_text) for of_text in targets]

    def batch(
        self,
        places: Sequence[int],
        need: Need,
        answers: Answers | None = None,
        weights: NDArray[np.float32] | None = None,
    ) -> SpanBatch:
        """The targets of these texts.

        Args:
            places: Of the texts.
            need: `states`, or `maps` for the attention between spans.
            answers: Of every text, [T, n] or [T, n, C]: what each of T trainings learns in place of the targets' own.
            weights: How often each of T trainings counts a text, [T, texts].
        """
        layouts = [self._layouts[place] for place in places]
        counts = self.counts[list(places)]
        before_tokens = np.cumsum([0, *(len(layout.tokens) for layout in layouts)])
        before_targets = np.cumsum([0, *counts])
        total = int(before_targets[-1])
        token = np.concatenate([layout.token + start for layout, start in zip(layouts, before_tokens, strict=False)])
        span = np.concatenate(
            [
                layout.slot * total + layout.target + start
                for layout, start in zip(layouts, before_targets, strict=False)
            ]
        )
        chosen = [self.answers[place][None] if answers is None else answers[place] for place in places]
        given = np.concatenate(chosen, 1)
        counted = np.ones((1, len(places)), np.float32) if weights is None else weights[:, list(places)]
        known = np.concatenate([self.known[place] for place in places]) if answers is None else np.full(total, True)
        read = [self._read(place, need)[0] for place in places]
        joined = torch.cat(read, 1 if need == "states" else 0).to(self.device).float()
        return SpanBatch(
            places=list(places),
            text=np.repeat(np.arange(len(places)), counts),
            answers=torch.from_numpy(given).to(self.device),
            weights=torch.from_numpy(np.repeat(counted, counts, axis=1)).to(self.device),
            known=torch.from_numpy(known).to(self.device),
            states=joined if need == "states" else None,
            token=torch.from_numpy(token).to(self.device),
            span=torch.from_numpy(span).to(self.device),
            pairs=joined if need == "maps" else None,
        )

    def _sort_keys(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.zeros_like(places)  # as they come

    def _fits(self, places: list[int], _need: Need, most: int) -> bool:
        return int(self.counts[places].sum()) <= most

    def _load(self, place: int, need: Need) -> tuple[Tensor, ...]:
        """The states of a text's tokens [L + 1, n, D], or attention between its pairs of spans [targets, 2 A]."""
        number, tokens = self.numbers[place], self._layouts[place].tokens
        if need == "maps":
            return (torch.from_numpy(span_attention(self.store.maps_of(number), self.targets[place])),)
        first = int(tokens[0])
        states = self.store.states_of(number, slice(first, int(tokens[-1]) + 1))
        return (torch.from_numpy(states[:, tokens - first]),)


def span_attention(maps: NDArray[np.floating], targets: Sequence[TokenTarget]) -> NDArray[np.floating]:
    """Attention between the two spans of each target, first to second, then back: [targets, 2 A]. maps: [A, T, T].

    To a span the sum over its tokens, from it the mean, as between words.
    """
    rows = []
    for target in targets:
        first, second = (slice(*span) for span in target.spans)
        ahead = maps[:, first, second].astype(np.float32).sum(2).mean(1)
        back = maps[:, second, first].astype(np.float32).sum(2).mean(1)
        rows.append(np.concatenate([ahead, back]))
    return np.stack(rows).astype(maps.dtype)


def _layout(targets: Sequence[TokenTarget]) -> _Layout:
    entries = [
        (token, slot, number)
        for number, target in enumerate(targets)
        for slot, (start, end) in enumerate(target.spans)
        for token in range(start, end)
    ]
    token, slot, target = np.array(entries, dtype=np.int64).T
    tokens, places = np.unique(token, return_inverse=True)
    return _Layout(tokens, places, slot, target)
