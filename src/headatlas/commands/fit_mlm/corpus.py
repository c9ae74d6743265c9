"""The text to fit on, in order, cut into pieces ``[CLS] text [SEP]`` of at most `max_tokens` tokens; and its batches.

The last lines are held out. Pieces do not cross documents; nothing is sampled and nothing dropped but lines that turn
into no tokens, which are counted.

Every epoch has the batches in another order and other tokens masked, all made from seed, epoch and place. So a run that
was stopped needs to know only how many batches it has seen. Masking is BERT's (see encoding/masking.py).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.corpora.sampling import rng_of
from headatlas.corpora.text import TextFormat, TextLine, read_text
from headatlas.encoding.batches import plan_batches
from headatlas.encoding.masking import TokenMasker
from headatlas.encoding.segments import encode_lines
from headatlas.encoding.template import Frame, single_frame
from headatlas.errors import CorpusError
from headatlas.wording import counted

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MOST_HELD_OUT = 0.1  # of the lines
FEWEST_PIECES = 20

Piece = NDArray[np.int32]  # [n], framed token ids


@dataclass(frozen=True)
class FitCorpus:
    """Pieces to train on and pieces held out, and a description of the text."""

    frame: Frame
    training: list[Piece]
    held_out: list[Piece]
    counts: NDArray[np.int64]  # [vocabulary], how often each token occurs in the training text
    lines: int
    lines_held_out: int
    lines_without_tokens: int
    unknown_rate: float  # share of the training text's tokens that the tokenizer does not know

    @property
    def tokens(self) -> int:
        """Tokens of the training pieces, frames included: what one epoch is."""
        return sum(map(len, self.training))


def read_corpus(
    paths: Sequence[Path],
    tokenizer: PreTrainedTokenizerBase,
    *,
    layout: TextFormat,
    max_tokens: int,
    hold_out: int,
    vocabulary: int,
) -> FitCorpus:
    """Read, encode and cut a text. Its tokens are kept in memory: 4 bytes each."""
    frame = single_frame(tokenizer)
    frame.room(max_tokens)
    lines = list(read_text(paths, layout))
    held = min(hold_out, int(MOST_HELD_OUT * len(lines)))
    split = len(lines) - held
    training, silent = cut(lines[:split], tokenizer, frame, max_tokens)
    held_out, silent_held_out = cut(lines[split:], tokenizer, frame, max_tokens)
    if len(training) < FEWEST_PIECES or not held_out:
        raise CorpusError(
            f"The text gives {counted(len(training), 'piece')} of at most {max_tokens} tokens to train on and "
            f"{len(held_out)} to hold out; at least {FEWEST_PIECES} and 1 are needed. Give more text with --text."
        )
    start, end = len(frame.before), len(frame.after)
    counts = np.bincount(np.concatenate([piece[start : len(piece) - end] for piece in training]), minlength=vocabulary)
    unknown = tokenizer.unk_token_id
    rate = float(counts[unknown] / counts.sum()) if unknown is not None else 0.0
    return FitCorpus(frame, training, held_out, counts, len(lines), held, silent + silent_held_out, rate)


def cut(
    lines: Sequence[TextLine], tokenizer: PreTrainedTokenizerBase, frame: Frame, max_tokens: int
) -> tuple[list[Piece], int]:
    """The pieces of each document, one after the other, and how many lines turned into no tokens.

    A document's lines are joined and cut wherever a piece is full; its last piece may be short.
    """
    room = max_tokens - frame.size
    pieces: list[Piece] = []
    gathered = array("i")
    silent = 0
    document: tuple[Path, int] | None = None

    def close() -> None:
        ids = np.array(gathered, dtype=np.int32)
        pieces.extend(frame.ids(ids[start : start + room]) for start in range(0, len(ids), room))
        del gathered[:]

    for line, encoded in encode_lines(lines, tokenizer):
        here = (line.path, line.document)
        if here != document:
            close()
            document = here
        gathered.extend(encoded.ids)
        silent += not encoded.ids
    close()
    return pieces, silent


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
