"""An input's words and special tokens in their order, as figure 1 shows them, and attention between them.

Tokens are not shown as they are spelt, because byte-level tokenizers write `ĠIn` for ` In`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.encoding.template import SPECIAL


def units_of(tokens: Sequence[str], word_of: Sequence[int], words: Sequence[str]) -> tuple[list[int], list[str]]:
    """The unit of each token, numbered from 0, and what each is called: a word by its text, a special token by itself.

    >>> units_of(["[CLS]", "Ġun", "real", "."], [-1, 0, 0, 1], ["unreal", "."])
    ([0, 1, 1, 2], ['[CLS]', 'unreal', '.'])
    """
    units: list[int] = []
    texts: list[str] = []
    before = SPECIAL
    for token, word in zip(tokens, word_of, strict=True):
        if word == SPECIAL or word != before:
            texts.append(token if word == SPECIAL else words[word])
        units.append(len(texts) - 1)
        before = word
    return units, texts


def between_units(maps: NDArray[np.floating[Any]], units: Sequence[int], count: int) -> NDArray[np.float32]:
    """Attention between units: to one the sum over its tokens, from it the mean. maps: [heads, tokens, tokens]."""
    import torch

    from headatlas.statistics.words import word_attention

    weights = torch.from_numpy(np.asarray(maps, dtype=np.float32))[None]
    found: NDArray[np.float32] = word_attention(weights, torch.tensor([units]), count)[0].numpy()
    return found
