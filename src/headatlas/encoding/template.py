"""How a tokenizer frames its input: which special tokens it puts before, between and after the text.

Found by encoding a probe with the tokenizer itself, never assumed from the name of a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import ModelError, SettingError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

_PROBE = "a"

SPECIAL = -1  # word index of a token that belongs to no word


@dataclass(frozen=True)
class Frame:
    """Special tokens around one span or a pair of spans, with the token type of every part."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    types: tuple[int, ...]  # token type ids in order: one for each special token, one for each span

    @property
    def size(self) -> int:
        """How many special tokens the frame adds."""
        return len(self.before) + len(self.between) + len(self.after)

    def room(self, max_tokens: int, least: int = 1) -> int:
        """How many tokens of text fit into an input of `max_tokens`; at least `least`, or it raises."""
        room = max_tokens - self.size
        if room < least:
            raise SettingError(f"--max-tokens {max_tokens} leaves no room for text: special tokens take {self.size}.")
        return room

    def ids(self, *spans: NDArray[np.int32]) -> NDArray[np.int32]:
        """The spans' token ids within the frame."""
        return self._join(self.before, self.between, self.after, spans)

    def words(self, *spans: NDArray[np.int32]) -> NDArray[np.int32]:
        """The spans' word indices within the frame; SPECIAL at the frame's own tokens."""
        before, between, after = ([SPECIAL] * len(part) for part in (self.before, self.between, self.after))
        return self._join(before, between, after, spans)

    def type_ids(self, *spans: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Token type ids, 0 for the first span and its frame, as the tokenizer gives them."""
        before, between, after = ([1] * len(part) for part in (self.before, self.between, self.after))
        sizes = self._join(before, between, after, tuple(np.full(1, len(span), np.int32) for span in spans))
        return np.repeat(np.asarray(self.types, dtype=np.uint8), sizes)

    @staticmethod
    def _join(
        before: object, between: object, after: object, spans: tuple[NDArray[np.int32], ...]
    ) -> NDArray[np.int32]:
        parts = [before, spans[0], *([between, spans[1]] if len(spans) > 1 else []), after]
        return np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])


def require_fast(tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise for a slow tokenizer where words matter: only fast tokenizers say which word a token belongs to."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"{type(tokenizer).__name__} is a slow tokenizer, which cannot tell which word a token belongs to. "
            "Save the model with a tokenizer.json (a fast tokenizer) and load that folder. Without one, only tasks "
            "over whole texts work: headatlas ablate --task translation or classification."
        )


def single_frame(tokenizer: PreTrainedTokenizerBase) -> Frame:
    """The frame of one span, e.g. ``[CLS] A [SEP]``."""
    ids, types, (span,) = _probe(tokenizer)
    return Frame(ids[: span.start], (), ids[span.stop :], (*types[: span.start + 1], *types[span.stop :]))


def pair_frame(tokenizer: PreTrainedTokenizerBase) -> Frame | None:
    """The frame of two spans, e.g. ``[CLS] A [SEP] B [SEP]``; None where nothing separates them.

    A start token that merely stands before each span, as in Llama's ``<s> A <s> B``, separates nothing.
    """
    ids, types, (first, second) = _probe(tokenizer, pair=True)
    before, between, after = ids[: first.start], ids[first.stop : second.start], ids[second.stop :]
    if not between or (between == before and not after):
        return None
    return Frame(
        before,
        between,
        after,
        (*types[: first.start + 1], *types[first.stop : second.start + 1], *types[second.stop :]),
    )


def plain_backend(tokenizer: PreTrainedTokenizerBase) -> Tokenizer:
    """The fast tokenizer itself, set to encode whole texts; the name of a special token in a text is text."""
    require_fast(tokenizer)
    backend: Tokenizer = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True
    return backend


def leading_space(backend: Tokenizer) -> str:
    """What a word or line after another needs in front to get the tokens it has in running text: a space or nothing.

    Byte-level tokenizers keep the space before a word as part of it; others add their own mark or drop it. Encoding a
    probe both ways tells them apart.
    """

    def tokens(text: str) -> list[int]:
        return list(backend.encode(text, add_special_tokens=False).ids)

    second = tokens(f"{_PROBE} {_PROBE}")[len(tokens(_PROBE)) :]
    return " " if second == tokens(f" {_PROBE}") != tokens(_PROBE) else ""


def _probe(
    tokenizer: PreTrainedTokenizerBase, pair: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...], list[slice]]:
    """Ids and types of the encoded probe, and the place of each of its spans."""
    require_fast(tokenizer)
    encoded = tokenizer(_PROBE, _PROBE if pair else None, return_token_type_ids=True)
    of_span = encoded.sequence_ids()
    spans = [[place for place, span in enumerate(of_span) if span == number] for number in range(1 + pair)]
    if not all(spans):
        raise ModelError("The tokenizer turns the letter 'a' into no token: its vocabulary does not fit text.")
    places = [slice(span[0], span[-1] + 1) for span in spans]
    return tuple(encoded["input_ids"]), tuple(encoded["token_type_ids"]), places
