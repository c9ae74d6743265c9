"""BERT's masking: 15 % of a segment's tokens are to be predicted; of these 80 % are replaced by the mask token,
10 % by a random token and 10 % left as they are (Devlin et al. 2019, appendix A.1).

What is masked depends on the seed and the segment alone, not on the batch it is in.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.template import SPECIAL
from headatlas.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SHARE_PREDICTED = 0.15
SHARE_MASKED, SHARE_RANDOM = 0.8, 0.1
IGNORED = -100  # label of a token that is not predicted


@dataclass(frozen=True)
class MaskedTokens:
    """A batch's inputs with some tokens hidden, and what stood there."""

    input_ids: Tensor  # [B, T]
    labels: Tensor  # [B, T], IGNORED where nothing is predicted


def ordinary_ids(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The ids a random token is drawn from: all but the special ones, in order."""
    special = set(tokenizer.all_special_ids)
    return [number for number in sorted(tokenizer.get_vocab().values()) if number not in special]


class Masker:
    """Hides tokens of batches for a masked language model."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, seed: int) -> None:
        if tokenizer.mask_token_id is None:
            raise ModelError("The tokenizer has no mask token, so the masked language model loss cannot be taken.")
        self._mask_id = tokenizer.mask_token_id
        self._ordinary = ordinary_ids(tokenizer)
        self._seed = seed

    def __call__(self, batch: Batch) -> MaskedTokens:
        """Mask every segment of a batch; tensors come on the batch's device."""
        ids = batch.input_ids.cpu().clone()
        labels = torch.full_like(ids, IGNORED)
        for row, segment in enumerate(batch.segments):
            dice = random.Random(f"{self._seed} mask {segment.id}")
            places = [place for place, word in enumerate(segment.words) if word != SPECIAL]
            count = min(len(places), max(1, round(SHARE_PREDICTED * len(places))))
            for place in dice.sample(places, count):
                labels[row, place] = ids[row, place]
                chance = dice.random()
                if chance < SHARE_MASKED:
                    ids[row, place] = self._mask_id
                elif chance < SHARE_MASKED + SHARE_RANDOM:
                    ids[row, place] = dice.choice(self._ordinary)
        return MaskedTokens(ids.to(batch.input_ids.device), labels.to(batch.input_ids.device))
