"""The sentences of a store as probes read them: padded batches of sentences of like length, on any device.

What a batch takes is read when it is asked for, from memory-mapped shards. Sentences once read are kept, in the type
they are stored in, until `memory_bytes` are full; the rest is read again each time. Every pass is shuffled within
windows of neighbouring shards, so that a disk is read in large pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.vectors import WordVectors
from headatlas.store.reading import Store
from headatlas.store.word_maps import windows

Need = Literal["words", "maps", "states"]
"""What a probe reads of a sentence beside its tree: word vectors alone, attention, or hidden states."""

MOST_CELLS = 4_000_000  # of a batch: numbers of attention or of states, padding included
WINDOW_BYTES = 1 << 30
IGNORED = -100  # as a target: no word here
SPECIAL_PAIRS = 4  # to [CLS], to [SEP], from [CLS], from [SEP]


@dataclass(frozen=True)
class ProbeBatch:
    """Sentences of like length, padded to W words."""

    places: list[int]  # [B], which sentences
    sizes: Tensor  # [B], words of each
    targets: Tensor  # [B, W], each word's head, W for ROOT, IGNORED where there is no word
    words: Tensor  # [B, W], rows of the table of word vectors
    maps: Tensor | None  # [B, W, W, A], from a word to a word
    special: Tensor | None  # [B, W, 4, A], between a word and [CLS], [SEP]: see SPECIAL_PAIRS
    states: Tensor | None  # [B, L + 1, W, D]

    @property
    def mask(self) -> Tensor:
        """Where there is a word: [B, W] bool."""
        return self.targets != IGNORED


def disk_windows(store: Store) -> NDArray[np.int64]:
    """For each example of a store, which stretch of about a gigabyte it lies in: [examples]."""
    found = np.empty(len(store), dtype=np.int64)
    for number, places in enumerate(windows(store.index.example_bytes(), WINDOW_BYTES)):
        found[places.start : places.stop] = number
    return found


def shuffled_by_window(
    batches: Sequence[list[int]], window: NDArray[np.int64], dice: np.random.Generator
) -> list[list[int]]:
    """Batches in random order, those of one window together. window: of each place; a batch is of one."""
    shuffled = [batches[number] for number in dice.permutation(len(batches))]
    turn = {number: place for place, number in enumerate(dice.permutation(int(window.max()) + 1).tolist())}
    return sorted(shuffled, key=lambda batch: turn[int(window[batch[0]])])


class Sentences:
    """The sentences of a store with what probes know of their words."""

    def __init__(
        self, store: Store, vectors: WordVectors | None, device: torch.device, memory_bytes: int = WINDOW_BYTES
    ) -> None:
        self.store, self.vectors, self.device = store, vectors, device
        self.examples = store.examples
        self.words = [example.words or () for example in self.examples]
        self.heads = [np.asarray(example.heads, dtype=np.int64) for example in self.examples]
        self.sizes = np.array([len(words) for words in self.words], dtype=np.int64)
        self._rows = [vectors.rows(words) if vectors else np.zeros(len(words), dtype=np.int64) for words in self.words]
        self._window = disk_windows(store)
        self._kept: dict[tuple[Need, int], tuple[Tensor, ...]] = {}
        self._room = memory_bytes

    def __len__(self) -> int:
        return len(self.words)

    def plan(
        self, places: Sequence[int], need: Need, most: int, dice: np.random.Generator | None = None
    ) -> list[list[int]]:
        """Batches of at most so many sentences of like length; in random order where there are dice."""
        chosen = np.asarray(places, dtype=np.int64)
        if dice is not None:
            chosen = dice.permutation(chosen)
        order = np.lexsort((self.sizes[chosen], self._window[chosen]))
        batches: list[list[int]] = []
        for place in chosen[order].tolist():
            last = batches[-1] if batches else []
            fits = len(last) < most and (len(last) + 1) * self._cells(place, need) <= MOST_CELLS
            if last and fits and self._window[last[0]] == self._window[place]:
                last.append(place)
            else:
                batches.append([place])
        if dice is None:
            return batches
        return shuffled_by_window(batches, self._window, dice)

    def batch(self, places: Sequence[int], need: Need, answers: Sequence[NDArray[Any]] | None = None) -> ProbeBatch:
        """These sentences, padded. answers: heads of every sentence of the store, in place of the treebank's."""
        sizes = self.sizes[list(places)]
        most, count = int(sizes.max()), len(places)
        targets = np.full((count, most), IGNORED, dtype=np.int64)
        words = np.zeros((count, most), dtype=np.int64)
        for row, place in enumerate(places):
            given = (answers or self.heads)[place]
            targets[row, : sizes[row]] = np.where(given == ROOT, most, given)
            words[row, : sizes[row]] = self._rows[place]
        return ProbeBatch(
            places=list(places),
            sizes=torch.from_numpy(sizes).to(self.device),
            targets=torch.from_numpy(targets).to(self.device),
            words=torch.from_numpy(words).to(self.device),
            **self._numbers(places, need, most),
        )

    def batches(
        self, plan: Sequence[Sequence[int]], need: Need, heads: Sequence[NDArray[np.int64]] | None = None
    ) -> Iterator[ProbeBatch]:
        """Every batch of a plan."""
        return (self.batch(places, need, heads) for places in plan)

    def _cells(self, place: int, need: Need) -> int:
        size, index = int(self.sizes[place]), self.store.index
        if need == "states":
            return (index.shape.layers + 1) * size * max(index.states, size)
        return size * size * (index.shape.total if need == "maps" else 256)

    def _numbers(self, places: Sequence[int], need: Need, most: int) -> dict[str, Tensor | None]:
        found: dict[str, Tensor | None] = {"maps": None, "special": None, "states": None}
        if need == "words":
            return found
        read = [self._read(place, need) for place in places]
        if need == "states":
            shape = read[0][0].shape
            states = torch.zeros(len(read), shape[0], most, shape[2], dtype=self._moved_as(read[0][0]))
            for row, (one,) in enumerate(read):
                states[row, :, : one.shape[1]] = one
            return found | {"states": states.to(self.device).float()}
        heads = read[0][0].shape[-1]
        dtype = self._moved_as(read[0][0])
        maps = torch.zeros(len(read), most, most, heads, dtype=dtype)
        special = torch.zeros(len(read), most, SPECIAL_PAIRS, heads, dtype=dtype)
        for row, (between, frame) in enumerate(read):
            size = len(between)
            maps[row, :size, :size] = between
            special[row, :size] = frame
        return found | {"maps": maps.to(self.device).float(), "special": special.to(self.device).float()}

    def _moved_as(self, stored: Tensor) -> torch.dtype:
        """The type in which a batch is put together: as stored where it goes to a GPU, else as it is used."""
        return torch.float32 if self.device.type == "cpu" else stored.dtype

    def _read(self, place: int, need: Need) -> tuple[Tensor, ...]:
        """A sentence's maps with the heads last [W, W, A] and [W, 4, A], or its states [L + 1, W, D]."""
        if (need, place) in self._kept:
            return self._kept[need, place]
        found: tuple[Tensor, ...]
        if need == "states":
            found = (torch.from_numpy(self.store.states_of(place)),)
        else:
            maps = torch.from_numpy(self.store.maps_of(place)).permute(1, 2, 0).contiguous()  # [W + 2, W + 2, A]
            size = len(self.words[place])
            special = torch.cat([maps[:size, size:], maps[size:, :size].transpose(0, 1)], 1)
            found = (maps[:size, :size].contiguous(), special)
        size = sum(part.numel() * part.element_size() for part in found)
        if size <= self._room:
            self._room -= size
            self._kept[need, place] = found
        return found
