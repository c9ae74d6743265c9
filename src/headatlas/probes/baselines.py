"""How far does one come without attention? Right-branching, and distances with or without words (paper, section 5).

- Right-branching, as the paper's table means it: each word's head is the next word, the last word's ROOT. (Its 26 % are
  table 1's offset 1.) Left-branching is its mirror: the word before, the first word's ROOT.
- Adjacent words: every word is linked with the next, punctuation left out. As a tree without directions it is the
  baseline of the structural probe.
- `DistanceProbe`: a network with one hidden layer (256, tanh) on what is known of a pair without attention: how far
  ahead and how far behind the candidate is (in tens of words), whether it is 2 or 1 words before or after, whether it
  is ROOT; and, where there are word vectors, those of both words (ROOT's is zero).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.attention import Parser
from headatlas.probes.batches import ProbeBatch

HIDDEN = 256
NEAR = (-2, -1, 1, 2)
FEATURES = 2 + len(NEAR) + 1
_UNIT = 10.0  # words


def branching(size: int, way: Literal["right", "left"]) -> NDArray[np.int64]:
    """The head of each word of a chain, without looking at it."""
    if way == "left":
        return np.arange(-1, size - 1)
    return np.where(np.arange(size) == size - 1, ROOT, np.arange(1, size + 1))


def adjacent_edges(heads: NDArray[np.int64], words: NDArray[np.bool_]) -> tuple[int, int]:
    """How many edges of a tree the chain of neighbouring words has, and how many there are; `words`: no punctuation."""
    counted = np.flatnonzero(words)
    edges = {
        frozenset((word, head))
        for word, head in zip(counted.tolist(), heads[counted].tolist(), strict=True)
        if head != ROOT and words[head]
    }
    neighbours = {frozenset(pair) for pair in pairwise(counted.tolist())}
    return len(edges & neighbours), len(edges)


def distance_features(words: int, device: torch.device) -> Tensor:
    """For each dependent and candidate, ROOT last: [W, W + 1, FEATURES]."""
    place = torch.arange(words, device=device)
    offset = place[None] - place[:, None]  # from the dependent to the candidate
    features = torch.zeros(words, words + 1, FEATURES, device=device)
    features[:, :words, 0] = offset.clamp_min(0) / _UNIT
    features[:, :words, 1] = (-offset).clamp_min(0) / _UNIT
    for number, near in enumerate(NEAR, start=2):
        features[:, :words, number] = (offset == near).float()
    features[:, words, -1] = 1
    return features


class DistanceProbe(Parser):
    """One hidden layer on distances and, if given, frozen word vectors [N, D]."""

    reads = "words"
    learning_rate = 0.002

    def __init__(self, vectors: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("vectors", vectors, persistent=False)
        width = 0 if vectors is None else vectors.shape[1]
        self.distances = nn.Linear(FEATURES, HIDDEN)
        self.dependent = nn.Linear(width, HIDDEN, bias=False) if width else None
        self.candidate = nn.Linear(width, HIDDEN, bias=False) if width else None
        self.score = nn.Linear(HIDDEN, 1, bias=False)

    def scores(self, batch: ProbeBatch) -> Tensor:
        words = batch.mask.shape[1]
        hidden = self.distances(distance_features(words, batch.words.device))  # [W, W + 1, HIDDEN]
        if self.dependent is None or self.candidate is None:
            return self.score(hidden.tanh())[None, ..., 0].expand(len(batch.words), -1, -1)  # type: ignore[no-any-return]
        vectors = self.get_buffer("vectors")[batch.words]  # [B, W, D]
        candidates = nn.functional.pad(self.candidate(vectors), (0, 0, 0, 1))  # [B, W + 1, HIDDEN]
        hidden = hidden + self.dependent(vectors)[:, :, None] + candidates[:, None]
        return self.score(hidden.tanh())[..., 0]  # type: ignore[no-any-return]
