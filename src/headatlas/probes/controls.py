"""Did the probe find syntax, or learn it by heart? A control task after Hewitt and Liang (2019).

Each word type draws once, by chance, where its words attach: to the first word of the sentence, to the last, or to ROOT
(in place of the word itself, which is no candidate here). Where that would be the word itself it is ROOT too. A probe
can get that right only by remembering words. *Selectivity* is its UAS on the treebank less its UAS on this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headatlas.corpora.treebanks.sentence import ROOT

BEHAVIOURS = ("first", "last", "root")


def behaviour(word: str, seed: int) -> str:
    """Where a word type attaches, whatever its case."""
    drawn = hashlib.shake_128(f"{seed} control {word.lower()}".encode()).digest(4)
    return BEHAVIOURS[int.from_bytes(drawn, "little") % len(BEHAVIOURS)]


def control_heads(sentences: Sequence[Sequence[str]], seed: int) -> list[NDArray[np.int64]]:
    """The heads that the control task gives every sentence."""
    drawn = {word: behaviour(word, seed) for words in sentences for word in set(words)}
    return [_heads([drawn[word] for word in words]) for words in sentences]


def _heads(behaviours: Sequence[str]) -> NDArray[np.int64]:
    last = len(behaviours) - 1
    target = {"first": 0, "last": last, "root": ROOT}
    heads = np.array([target[name] for name in behaviours], dtype=np.int64)
    return np.where(heads == np.arange(len(heads)), ROOT, heads)
