"""The commonest tokens of a text: a token that stands everywhere gets much attention without any head choosing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headatlas.encoding.kinds import are_periods_or_commas
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.token_texts import token_texts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MOST_LISTED = 20


def common_tokens(segments: Iterable[Segment], tokenizer: PreTrainedTokenizerBase) -> list[dict[str, Any]]:
    """The commonest tokens, special ones left out, the commonest first; of equally common ones, the lower id.

    Returns:
        For each its token as text, its count, its share of all tokens that are not special, and whether it is a period
        or comma.
    """
    counts: Counter[int] = Counter()
    for segment in segments:
        counts.update(segment.ids[segment.words != SPECIAL].tolist())
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_LISTED]
    ids = [number for number, _ in ranked]
    texts = token_texts(tokenizer.convert_ids_to_tokens(ids), tokenizer)
    return [
        {"token": token, "count": count, "share": count / counts.total(), "period_comma": is_one}
        for token, (_, count), is_one in zip(texts, ranked, are_periods_or_commas(ids, tokenizer), strict=True)
    ]
