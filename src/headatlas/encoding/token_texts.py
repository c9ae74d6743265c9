"""Tokens as text: vocabularies spell a space as Ġ or ▁, and bytes of other letters as letters that nobody wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokenizers.decoders import ByteLevel

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
