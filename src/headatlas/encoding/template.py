"""How a tokenizer frames its input: which special tokens stand before, between and after the text.

Read off the tokenizer itself by encoding a probe, never assumed from a model's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import ModelError, SettingError

if TYPE_CHECKING:
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
        """How many tokens of text an input of `max_tokens` holds; refused where these are fewer than the least."""
        room = max_tokens - self.size
        if room < least:
            raise SettingError(f"--max-tokens {max_tokens} leaves no room for text: the frame alone takes {self.size}.")
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
    """Refuse a slow tokenizer where words matter: they are aligned through the fast tokenizers' own offsets."""
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


def continues_with_space(tokenizer: PreTrainedTokenizerBase) -> bool:
    """Whether a line that follows another must be encoded with a space in front (byte-level tokenizers)."""

    def tokens(text: str) -> list[int]:
        return list(tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids)

    together = tokens(f"{_PROBE} {_PROBE}")[len(tokens(_PROBE)) :]
    return together != tokens(_PROBE) and together == tokens(f" {_PROBE}")


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
