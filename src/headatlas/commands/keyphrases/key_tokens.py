"""The tokens of a batch that belong to keyphrases, and two controls: the length of candidates, and shuffled labels."""

from __future__ import annotations

import random

import numpy as np
import torch
from torch import Tensor

from headatlas.commands.keyphrases.key_words import OUTSIDE
from headatlas.commands.keyphrases.segments import KeyphraseSegment
from headatlas.encoding.batches import Batch
from headatlas.encoding.template import SPECIAL
from headatlas.statistics.words import segments_of


class KeyTokens:
    """The tokens of a batch that count: those of keyphrases, and the others. Each [B, T] bool on the batch's device.

    Attributes:
        key: Tokens of keyphrases.
        other: Other tokens that count.
        text: All tokens that are not special.
        lengths: The number of words of the candidate that a token stands in, plus 1, so that no token has none; scaled
            to sum 1 over the text, as if it were attention. [B, T]
        both: Segments with tokens of both sorts, [B].
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        shape = tuple(batch.mask.shape)
        text, lengths = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.float32)
        for row, segment in enumerate(segments_of(batch, KeyphraseSegment)):
            places = np.flatnonzero(segment.words != SPECIAL)
            text[row, places] = True
            lengths[row, places] = segment.lengths[segment.words[places]] + 1
        lengths /= np.maximum(lengths.sum(1, keepdims=True), 1)
        device = batch.mask.device
        self.text, self.lengths = torch.from_numpy(text).to(device), torch.from_numpy(lengths).to(device)
        self.key, self.other = self._labelled(None)
        self.both = self.key.any(1) & self.other.any(1)

    def shuffled(self, seed: str) -> tuple[Tensor, Tensor]:
        """Key and other tokens after the labels of the words that count were shifted, round the end, in each segment.

        A shift keeps phrases together, so that they are as long as the real ones.
        """
        return self._labelled(seed)

    def _labelled(self, seed: str | None) -> tuple[Tensor, Tensor]:
        key, other = (np.zeros(tuple(self.batch.mask.shape), dtype=np.bool_) for _ in range(2))
        for row, segment in enumerate(segments_of(self.batch, KeyphraseSegment)):
            counted = np.flatnonzero(segment.counted)
            of_words = np.full(len(segment.text), OUTSIDE)
            labels = segment.tags[counted]
            if seed is not None and len(counted) > 1:
                labels = np.roll(labels, random.Random(f"{seed} {segment.id}").randrange(1, len(counted)))
            of_words[counted] = labels
            places = np.flatnonzero(segment.words != SPECIAL)
            words = segment.words[places]
            key[row, places] = segment.counted[words] & (of_words[words] != OUTSIDE)
            other[row, places] = segment.counted[words] & (of_words[words] == OUTSIDE)
        device = self.batch.mask.device
        return torch.from_numpy(key).to(device), torch.from_numpy(other).to(device)
