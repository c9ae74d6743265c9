"""The kind of every token, from the roles that the tokenizer declares, never from how special tokens are spelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headatlas.encoding.template import require_fast

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class TokenKind(IntEnum):
    """The paper's token kinds (section 3.2)."""

    OTHER = 0
    CLS = 1
    SEP = 2
    PERIOD_COMMA = 3


# The full stop and the comma, and their counterparts in other scripts.
PERIODS_AND_COMMAS = frozenset(".,。．，、،۔।")  # noqa: RUF001


@dataclass(frozen=True)
class KindTable:
    """The kind of every token id of one tokenizer."""

    of_id: NDArray[np.uint8]  # [vocabulary]

    def __call__(self, ids: NDArray[np.int32]) -> NDArray[np.uint8]:
        """The kinds of token ids, in the same shape."""
        return self.of_id[ids]


def kind_table(tokenizer: PreTrainedTokenizerBase) -> KindTable:
    """Look up the role of every token of a tokenizer once.

    ``[CLS]`` is the cls token or, if there is none, the bos token; ``[SEP]`` is the sep token or else the eos token.
    """
    require_fast(tokenizer)
    vocabulary = tokenizer.get_vocab()
    of_id = np.zeros(max(vocabulary.values()) + 1, dtype=np.uint8)
    numbers = list(vocabulary.values())
    of_id[numbers] = TokenKind.PERIOD_COMMA * np.array(are_periods_or_commas(numbers, tokenizer))
    roles = (
        (TokenKind.SEP, tokenizer.sep_token_id, tokenizer.eos_token_id),
        (TokenKind.CLS, tokenizer.cls_token_id, tokenizer.bos_token_id),
    )
    for kind, declared, substitute in roles:
        number = declared if declared is not None else substitute
        if number is not None:
            of_id[number] = kind
    return KindTable(of_id)


def are_periods_or_commas(ids: Sequence[int], tokenizer: PreTrainedTokenizerBase) -> list[bool]:
    """Whether each token is a period or a comma, at the beginning of a word or within it."""
    backend = tokenizer.backend_tokenizer
    prefix = getattr(backend.model, "continuing_subword_prefix", None) or ""  # WordPiece's "##"
    texts = backend.decode_batch([[number] for number in ids], skip_special_tokens=False)
    return [text.removeprefix(prefix).strip() in PERIODS_AND_COMMAS for text in texts]
