"""What kind of token each one is: by the tokenizer's own roles, never by the spelling of special tokens."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headatlas.encoding.template import require_fast

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Kind(IntEnum):
    """The paper's token kinds (section 3.2)."""

    OTHER = 0
    CLS = 1
    SEP = 2
    PERIOD_COMMA = 3


# The full stop and the comma, and the marks that do their work in other scripts.
PERIODS_AND_COMMAS = frozenset(".,。．，、،۔।")  # noqa: RUF001


@dataclass(frozen=True)
class KindTable:
    """The kind of every token id of one tokenizer."""

    of_id: NDArray[np.uint8]  # [vocabulary]

    def __call__(self, ids: NDArray[np.int32]) -> NDArray[np.uint8]:
        """The kinds of token ids, in their shape."""
        return self.of_id[ids]


def kind_table(tokenizer: PreTrainedTokenizerBase) -> KindTable:
    """Look up the roles of a tokenizer's tokens once.

    ``[CLS]`` is the tokenizer's cls token or, where it has none, its bos token; ``[SEP]`` is its sep token
    or else its eos token.
    """
    require_fast(tokenizer)
    vocabulary = tokenizer.get_vocab()
    of_id = np.zeros(max(vocabulary.values()) + 1, dtype=np.uint8)
    numbers = list(vocabulary.values())
    backend = tokenizer.backend_tokenizer
    prefix = getattr(backend.model, "continuing_subword_prefix", None) or ""  # WordPiece's "##"
    texts = backend.decode_batch([[number] for number in numbers], skip_special_tokens=False)
    for number, text in zip(numbers, texts, strict=True):
        if text.removeprefix(prefix).strip() in PERIODS_AND_COMMAS:
            of_id[number] = Kind.PERIOD_COMMA
    roles = (
        (Kind.SEP, tokenizer.sep_token_id, tokenizer.eos_token_id),
        (Kind.CLS, tokenizer.cls_token_id, tokenizer.bos_token_id),
    )
    for kind, own, substitute in roles:
        number = own if own is not None else substitute
        if number is not None:
            of_id[number] = kind
    return KindTable(of_id)
