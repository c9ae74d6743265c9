"""What a probe is, and what it reads: a small network with its losses, and examples of a store in batches.

What a batch needs is read when it is asked for, from memory-mapped files. Examples once read are kept, in the type they
are stored in, until `memory_bytes` are full; the rest is read again each time. Every pass is shuffled within windows of
neighbouring files, so that a disk is read in large pieces.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headatlas.store.reading import Store
from headatlas.store.word_maps import windows

Need = Literal["words", "maps", "states"]
"""What a probe reads of an example beside its labels: word vectors alone, attention, or hidden states."""

WINDOW_BYTES = 1 << 30

B = TypeVar("B")

Answers = Sequence[NDArray[Any]]
"""What a probe is to learn of every example: heads of words, labels of spans."""


class Examples(ABC, Generic[B]):
    """Examples of a store by their places, in batches on a device."""

    def __init__(self, store: Store, numbers: Sequence[int], device: torch.device, memory_bytes: int) -> None:
        """numbers: of the examples in the store."""
        self.store, self.numbers, self.device = store, numbers, device
        window = np.empty(len(store), dtype=np.int64)
        for number, places in enumerate(windows(store.index.example_bytes(), WINDOW_BYTES)):
            window[places.start : places.stop] = number
        self._window = window[list(numbers)]  # the stretch of about a gigabyte in which each example lies
        self._cache: dict[tuple[Need, int], tuple[Tensor, ...]] = {}
        self._free_bytes = memory_bytes

    def __len__(self) -> int:
        return len(self.numbers)

    def plan(
        self, places: Sequence[int], need: Need, most: int, rng: np.random.Generator | None = None
    ) -> list[list[int]]:
        """Batches of at most `most` units, each from one window; shuffled, window by window, if `rng` is given."""
        chosen = np.asarray(places, dtype=np.int64)
        if rng is not None:
            chosen = rng.permutation(chosen)
        order = np.lexsort((self._sort_keys(chosen), self._window[chosen]))
        batches: list[list[int]] = []
        for place in chosen[order].tolist():
            last = batches[-1] if batches else []
            if last and self._window[last[0]] == self._window[place] and self._fits([*last, place], need, most):
                last.append(place)
            else:
                batches.append([place])
        if rng is None:
            return batches
        shuffled = [batches[number] for number in rng.permutation(len(batches))]
        turn = {number: place for place, number in enumerate(rng.permutation(int(self._window.max()) + 1).tolist())}
        return sorted(shuffled, key=lambda batch: turn[int(self._window[batch[0]])])

    @abstractmethod
    def batch(self, places: Sequence[int], need: Need, answers: Answers | None = None) -> B:
        """These examples. answers: of every example, in place of their own."""

    def batches(self, places: Sequence[int], need: Need, most: int, answers: Answers | None = None) -> Iterator[B]:
        """Every batch of these examples, not shuffled."""
        return (self.batch(batch, need, answers) for batch in self.plan(places, need, most))

    @abstractmethod
    def _sort_keys(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """What examples are sorted by within a window."""

    @abstractmethod
    def _fits(self, places: list[int], need: Need, most: int) -> bool:
        """Whether a batch of these examples is small enough."""

    @abstractmethod
    def _load(self, place: int, need: Need) -> tuple[Tensor, ...]:
        """The stored numbers of an example that a probe needs."""

    def _read(self, place: int, need: Need) -> tuple[Tensor, ...]:
        """The same, from memory if they are kept there."""
        if (need, place) in self._cache:
            return self._cache[need, place]
        tensors = self._load(place, need)
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        if size <= self._free_bytes:
            self._free_bytes -= size
            self._cache[need, place] = tensors
        return tensors


class Probe(nn.Module, ABC, Generic[B]):
    """A network that a training can teach; it may hold several probes side by side, first in every parameter."""

    reads: ClassVar[Need]
    learning_rate: ClassVar[float]

    @property
    def side_by_side(self) -> int:
        """How many probes it holds."""
        return 1

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Parameters with the rates they learn at."""
        return [{"params": list(self.parameters()), "lr": self.learning_rate}]

    @abstractmethod
    def losses(self, batch: B) -> tuple[Tensor, Tensor]:
        """The summed loss of each probe and what it is a sum over: [side_by_side] each."""
