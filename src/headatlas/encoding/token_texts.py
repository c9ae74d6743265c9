"""Tokens as text: vocabularies spell a space as Ġ or ▁, and bytes of other letters as letters that nobody wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tokenizers.decoders import ByteLevel

from headatlas.encoding.kinds import are_periods_or_commas
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_BYTE_SPACE, _SPACE = "Ġ", "▁"


def token_texts(tokens: Sequence[str], tokenizer: PreTrainedTokenizerBase | None = None) -> list[str]:
    """Return the text of each token, with the space that it begins with; the ## of a word piece stays.

    A token that is only some of the bytes of a character becomes a replacement character. Without the tokenizer, the
    spelling of spaces says whether tokens are spelt in bytes.

    >>> token_texts(["<s>", "ĠdÃ©jÃł", "Ġvu", "##s", "▁new"])
    ['<s>', ' déjà', ' vu', '##s', ' new']
    """
    if tokenizer is None:
        in_bytes = any(token.startswith(_BYTE_SPACE) for token in tokens)
    else:
        in_bytes = tokenizer.convert_tokens_to_string([f"{_BYTE_SPACE}a"]).endswith(" a")
    decode = ByteLevel().decode
    texts = [str(decode([token])) if in_bytes else token for token in tokens]
    return [f" {text[1:]}" if text.startswith(_SPACE) else text for text in texts]


MOST_LISTED = 20


def common_tokens(segments: Iterable[Segment], tokenizer: PreTrainedTokenizerBase) -> list[dict[str, Any]]:
    """The commonest tokens, special ones left out, the commonest first; of equally common ones, the lower id.

    A token that stands everywhere gets much attention without any head choosing it.

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
