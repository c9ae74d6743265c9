"""Did a probe find structure, or learn words by heart? Control tasks after Hewitt and Liang (2019).

A probe can get a control task right only by remembering words. *Selectivity* is its score on the task less its score on
the control.

- Of a treebank each word type draws once, at random, where its words attach: to the first word of the sentence, to the
  last, or to ROOT. Where that would be the word itself it is ROOT too.
- Of a span task each different wording of a target's spans, whatever its case, draws once, at random, the answer of
  some training target. So labels are as frequent as in the task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.span_batches import SpanTargets

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


def control_answers(
    targets: SpanTargets, texts: Sequence[Sequence[str]], pool: NDArray[np.int64], seed: int
) -> list[NDArray[np.int64]]:
    """Answers for every target. texts: the words of each text; pool: the training answers [n] or [n, C]."""
    return [
        pool[[_drawn(_wording(words, target.words), seed, len(pool)) for target in of_text]]
        for words, of_text in zip(texts, targets.targets, strict=True)
    ]


def _wording(words: Sequence[str], spans: Sequence[tuple[int, int]]) -> str:
    return " | ".join(" ".join(words[start:end]) for start, end in spans).lower()


def _drawn(wording: str, seed: int, count: int) -> int:
    drawn = hashlib.shake_128(f"{seed} control {wording}".encode()).digest(8)
    return int.from_bytes(drawn, "little") % count
