"""BERT's masking: 15 % of the tokens of an input are predicted, at least one; of these 80 % are replaced by the mask
token, 10 % by a random token and 10 % left as they are (Devlin et al. 2019, appendix A.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.corpora.sampling import rng_of
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
    """The inputs of a batch with some tokens hidden, and the hidden tokens."""

    input_ids: Tensor  # [B, T]
    labels: Tensor  # [B, T], IGNORED where nothing is predicted


def ordinary_ids(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The ids that random tokens are chosen from: all but the special ones, in order."""
    special = set(tokenizer.all_special_ids)
    return [number for number in sorted(tokenizer.get_vocab().values()) if number not in special]


class TokenMasker:
    """Hides tokens for a masked language model."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        if tokenizer.mask_token_id is None:
            raise ModelError("The tokenizer has no mask token. Use a masked language model, such as bert-base-uncased.")
        self._mask_id = tokenizer.mask_token_id
        self._ordinary = np.asarray(ordinary_ids(tokenizer), dtype=np.int64)

    def hide(self, ids: NDArray[np.int64], text: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Hide tokens in place.

        Args:
            ids: Token ids, shape [B, T]; what is hidden is overwritten.
            text: Which tokens may be hidden, shape [B, T].
            rng: Decides which tokens are hidden, and how.

        Returns:
            The tokens to predict, shape [B, T].
        """
        count = np.maximum(1, np.round(SHARE_PREDICTED * text.sum(1, keepdims=True)))
        order = np.where(text, rng.random(ids.shape), 2.0).argsort(1, kind="stable").argsort(1, kind="stable")
        chosen: NDArray[np.bool_] = text & (order < count)
        originals = ids[chosen]
        chance = rng.random(len(originals))
        random_ids = rng.choice(self._ordinary, size=len(originals))
        replaced = np.where(chance < SHARE_MASKED + SHARE_RANDOM, random_ids, originals)
        ids[chosen] = np.where(chance < SHARE_MASKED, self._mask_id, replaced)
        return chosen


class Masker(TokenMasker):
    """Hides tokens of batches; which, depends on the seed and the segment alone, not on the batch."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, seed: int) -> None:
        super().__init__(tokenizer)
        self._seed = seed

    def __call__(self, batch: Batch) -> MaskedTokens:
        """Mask every segment of a batch; the tensors are on the device of the batch."""
        ids = batch.input_ids.cpu().numpy().copy()
        labels = np.full_like(ids, IGNORED)
        for row, segment in enumerate(batch.segments):
            real = (slice(row, row + 1), slice(len(segment)))
            originals = ids[real].copy()
            chosen = self.hide(ids[real], segment.words[None] != SPECIAL, rng_of(self._seed, "mask", segment.id))
            labels[real] = np.where(chosen, originals, IGNORED)
        device = batch.input_ids.device
        return MaskedTokens(torch.from_numpy(ids).to(device), torch.from_numpy(labels).to(device))
