"""The sentences of a store as probes read them: padded batches of sentences of similar length, on any device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.probe import WINDOW_BYTES, Answers, Examples, Need
from headatlas.probes.vectors import WordVectors
from headatlas.store.reading import Store

MOST_CELLS = 4_000_000  # of a batch: numbers of attention or of states, padding included
IGNORED = -100  # as a target: no word here
SPECIAL_PAIRS = 4  # to [CLS], to [SEP], from [CLS], from [SEP]


@dataclass(frozen=True)
class ProbeBatch:
    """Sentences of similar length, padded to W words."""

    places: list[int]  # [B], which sentences
    sizes: Tensor  # [B], words of each
    targets: Tensor  # [B, W], each word's head, W for ROOT, IGNORED where there is no word
    words: Tensor  # [B, W], rows of the table of word vectors
    maps: Tensor | None = None  # [B, W, W, A], from a word to a word
    special: Tensor | None = None  # [B, W, 4, A], between a word and [CLS], [SEP]: see SPECIAL_PAIRS
    states: Tensor | None = None  # [B, L + 1, W, D]

    @property
    def mask(self) -> Tensor:
        """Where there is a word: [B, W] bool."""
        return self.targets != IGNORED


class Sentences(Examples[ProbeBatch]):
    """The sentences of a store with what probes know of their words."""

    def __init__(
        self, store: Store, vectors: WordVectors | None, device: torch.device, memory_bytes: int = WINDOW_BYTES
    ) -> None:
        super().__init__(store, range(len(store)), device, memory_bytes)
        self.vectors = vectors
        self.examples = store.examples
        self.words = [example.words or () for example in self.examples]
        self.heads = [np.asarray(example.heads, dtype=np.int64) for example in self.examples]
        self.sizes = np.array([len(words) for words in self.words], dtype=np.int64)
        self._rows = [vectors.rows(words) if vectors else np.zeros(len(words), dtype=np.int64) for words in self.words]

    def batch(self, places: Sequence[int], need: Need, answers: Answers | None = None) -> ProbeBatch:
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

    def _sort_keys(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.sizes[places]

    def _fits(self, places: list[int], need: Need, most: int) -> bool:
        size, index = int(self.sizes[places[-1]]), self.store.index  # the longest
        if need == "states":
            cells = (index.shape.layers + 1) * size * max(index.states, size)
        else:
            cells = size * size * (index.shape.total if need == "maps" else 256)
        return len(places) <= most and len(places) * cells <= MOST_CELLS

    def _numbers(self, places: Sequence[int], need: Need, most: int) -> dict[str, Tensor]:
        if need == "words":
            return {}
        read = zip(*(self._read(place, need) for place in places), strict=True)
        if need == "states":
            (states,) = read
            layers, _, width = states[0].shape
            return {"states": self._padded(states, (layers, most, width))}
        maps, special = read
        heads = maps[0].shape[-1]
        return {
            "maps": self._padded(maps, (most, most, heads)),
            "special": self._padded(special, (most, SPECIAL_PAIRS, heads)),
        }

    def _padded(self, tensors: Sequence[Tensor], shape: tuple[int, ...]) -> Tensor:
        """Tensors side by side on the device, filled up with zeros to this shape.

        They are put together in the type they are stored in if they go to a GPU, else in the one they are used in.
        """
        dtype = torch.float32 if self.device.type == "cpu" else tensors[0].dtype
        padded = torch.zeros(len(tensors), *shape, dtype=dtype)
        for target, tensor in zip(padded, tensors, strict=True):
            target[tuple(map(slice, tensor.shape))] = tensor
        return padded.to(self.device).float()

    def _load(self, place: int, need: Need) -> tuple[Tensor, ...]:
        """A sentence's maps with the heads last [W, W, A] and [W, 4, A], or its states [L + 1, W, D]."""
        if need == "states":
            return (torch.from_numpy(self.store.states_of(place)),)
        maps = torch.from_numpy(self.store.maps_of(place)).permute(1, 2, 0).contiguous()  # [W + 2, W + 2, A]
        size = len(self.words[place])
        special = torch.cat([maps[:size, size:], maps[size:, :size].transpose(0, 1)], 1)
        return maps[:size, :size].contiguous(), special
