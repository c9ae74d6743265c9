"""The text to fit on: all of it, in order, cut into pieces ``[CLS] text [SEP]`` of at most `max_tokens` tokens.

The last lines are held out. Pieces do not cross documents; nothing is sampled and nothing dropped but lines that turn
into no tokens, which are counted.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headatlas.corpora.text import TextFormat, TextLine, read_text
from headatlas.encoding.segments import encode_lines
from headatlas.encoding.template import Frame, single_frame
from headatlas.errors import CorpusError

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
            f"The text gives {len(training)} pieces of at most {max_tokens} tokens to train on and {len(held_out)} to "
            f"hold out; at least {FEWEST_PIECES} and 1 are needed. Give more text with --text."
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
