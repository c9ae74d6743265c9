"""How much of a corpus a tokenizer does not know: tokens that became its unknown token, such as ``[UNK]``.

A model sees only the position of such a word. A corpus in a script that the tokenizer does not know still gives tables
that look like results, so the share is counted wherever a corpus is read, and a large one leads to a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import WordSegment
from headatlas.wording import fine_percent

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MUCH_UNKNOWN = 0.05  # share of the tokens that leads to a warning

UnknownCounts = dict[str, int]
"""tokens, of_tokens: the unknown ones, and all that are not special; words, of_words: those with an unknown token, and
all, if the corpus has words of its own. These are whole numbers, so that counts add up."""


def count_unknown(segments: Iterable[Segment], tokenizer: PreTrainedTokenizerBase) -> UnknownCounts:
    """Count what is unknown in these inputs; nothing if the tokenizer has no unknown token, as byte-level ones."""
    number = tokenizer.unk_token_id
    return add_up(
        count_in_input(
            segment.words,
            segment.ids == (-1 if number is None else number),
            segment.size if isinstance(segment, WordSegment) else None,
        )
        for segment in segments
    )


def count_in_input(word_of: NDArray[np.int32], unknown: NDArray[np.bool_], words: int | None) -> UnknownCounts:
    """Count in one input. word_of, unknown: [tokens], SPECIAL for a token without word; words: how many, if known."""
    text = word_of != SPECIAL
    counts = {"tokens": int((unknown & text).sum()), "of_tokens": int(text.sum())}
    return counts if words is None else counts | {"words": len(np.unique(word_of[unknown & text])), "of_words": words}


def count_in_rows(ids: NDArray[np.int64], real: NDArray[np.bool_], tokenizer: PreTrainedTokenizerBase) -> UnknownCounts:
    """Count in padded inputs without known words, [rows, tokens]; special tokens are recognised by their ids."""
    frame = {getattr(tokenizer, f"{role}_token_id") for role in ("bos", "eos", "cls", "sep", "pad", "mask")}
    number = tokenizer.unk_token_id
    text = real & ~np.isin(ids, sorted(frame - {None}))
    return {"tokens": int((text & (ids == (-1 if number is None else number))).sum()), "of_tokens": int(text.sum())}


def add_up(counts: Iterable[UnknownCounts]) -> UnknownCounts:
    """Add up the counts of several inputs."""
    total: Counter[str] = Counter({"tokens": 0, "of_tokens": 0})
    for part in counts:
        total.update(part)
    return dict(total)


def unknown_share(counts: Mapping[str, Any] | None, what: str = "tokens") -> float:
    """The share of tokens that are unknown, or of words with such a token; 0 if a record does not say."""
    of = (counts or {}).get(f"of_{what}", 0)
    return (counts or {}).get(what, 0) / of if of else 0.0


def much_unknown(share: float, corpus: str, model: str, consequence: str, more: str = "") -> list[str]:
    """A warning if a large share of a corpus ("the text") is unknown. more: what else to say about the share."""
    if share < MUCH_UNKNOWN:
        return []
    return [
        f"{fine_percent(share)} of the tokens of {corpus} are unknown to the tokenizer of {model}{more}: "
        f"{consequence}. Use a text in a script that this model knows, or a model that knows this script."
    ]
