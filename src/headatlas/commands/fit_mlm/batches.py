"""Training batches: every epoch in another order and with other tokens masked, all made from seed, epoch and place.

So a run that was stopped needs to know only how many batches it has seen. Masking is BERT's (see encoding/masking.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.commands.fit_mlm.corpus import Piece
from headatlas.corpora.sampling import rng_of
from headatlas.encoding.batches import plan_batches
from headatlas.encoding.masking import TokenMasker
from headatlas.encoding.template import Frame

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

POOL = 2048  # pieces that are sorted by length together: large enough for little padding, small enough to shuffle


@dataclass(frozen=True)
class MaskedBatch:
    """Padded pieces with some tokens masked, and the tokens to predict."""

    input_ids: Tensor  # [B, T] int64
    mask: Tensor  # [B, T] int64, 1 on real tokens
    chosen: Tensor  # [B, T] bool, true where a token is to be predicted
    labels: Tensor  # [N] int64, the tokens to predict, in the order of `chosen`
    tokens: int  # real ones

    def to(self, device: torch.device) -> MaskedBatch:
        """The same batch on another device."""
        names = ("input_ids", "mask", "chosen", "labels")
        return replace(self, **{name: getattr(self, name).to(device) for name in names})


class BatchMaker:
    """Pads and masks pieces of one tokenizer."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, frame: Frame) -> None:
        self._masker, self._pad_id = TokenMasker(tokenizer), int(tokenizer.pad_token_id or 0)
        self._before, self._after = len(frame.before), len(frame.after)

    def __call__(self, pieces: Sequence[Piece], rng: np.random.Generator) -> MaskedBatch:
        """Pad some pieces and hide tokens of each."""
        lengths = np.array([len(piece) for piece in pieces])[:, None]  # [B, 1]
        ids = np.full((len(pieces), int(lengths.max())), self._pad_id, dtype=np.int64)  # [B, T]
        place = np.arange(ids.shape[1])[None]
        mask = place < lengths
        ids[mask] = np.concatenate(pieces)
        text = (place >= self._before) & (place < lengths - self._after)
        originals = ids.copy()
        chosen = self._masker.hide(ids, text, rng)
        return MaskedBatch(
            torch.from_numpy(ids),
            torch.from_numpy(mask.astype(np.int64)),
            torch.from_numpy(chosen),
            torch.from_numpy(originals[chosen]),
            int(lengths.sum()),
        )

    def training(self, pieces: Sequence[Piece], batch_tokens: int, seed: int, skip: int) -> Iterator[MaskedBatch]:
        """Batches without end, epoch after epoch; the first `skip` of them are not made."""
        before = 0
        for epoch in count():
            plan = epoch_plan(pieces, batch_tokens, seed, epoch)
            for number in range(max(0, skip - before), len(plan)):
                yield self([pieces[index] for index in plan[number]], rng_of(seed, "mask", epoch, number))
            before += len(plan)

    def held_out(self, pieces: Sequence[Piece], batch_tokens: int, seed: int) -> list[MaskedBatch]:
        """All pieces once, always masked the same way, in an order of which any beginning is a fair sample."""
        return [
            self([pieces[index] for index in indices], rng_of(seed, "held-out", number))
            for number, indices in enumerate(epoch_plan(pieces, batch_tokens, seed, 0))
        ]


def epoch_plan(pieces: Sequence[Piece], batch_tokens: int, seed: int, epoch: int) -> list[NDArray[np.int64]]:
    """Which pieces make each batch: shuffled, sorted by length within pools, the batches shuffled again."""
    rng = rng_of(seed, "order", epoch)
    order = rng.permutation(len(pieces))
    plan = []
    for start in range(0, len(order), POOL):
        pool = order[start : start + POOL]
        plan += [pool[places] for places in plan_batches([pieces[index] for index in pool], batch_tokens)]
    return [plan[number] for number in rng.permutation(len(plan))]
