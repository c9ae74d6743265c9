"""Did a probe find structure, or learn words by heart? Control tasks after Hewitt and Liang (2019).

A probe can get a control task right only by remembering words. *Selectivity* is its score on the task less its score on
the control.

How hard a control task is depends on the draw: a few frequent words decide how often a constant answer is right (.33 to
.49 over draws on 250 sentences). So several are drawn, and each score is corrected by what the best constant answer
gets on that draw, less what it gets on average over many (a control variate: constant answers need no training).

- Of a treebank each word type draws once, at random, where its words attach: to the first word of the sentence, to the
  last, or to ROOT. Where that would be the word itself it is ROOT too.
- Of a span task each different wording of a target's spans, whatever its case, draws once, at random, the answer of
  some training target. So labels are as frequent as in the task.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.span_batches import SpanTargets

Floats = NDArray[np.float64]
BEHAVIOURS = ("first", "last", "root")
DRAWS = 5  # control tasks that a probe is trained on
CONSTANT_DRAWS = 500  # control tasks over which the constant answer is averaged


def behaviour(word: str, seed: int) -> str:
    """Where a word type attaches, whatever its case."""
    drawn = hashlib.shake_128(f"{seed} control {word.lower()}".encode()).digest(4)
    return BEHAVIOURS[int.from_bytes(drawn, "little") % len(BEHAVIOURS)]


def control_heads(sentences: Sequence[Sequence[str]], seed: int) -> list[NDArray[np.int64]]:
    """The heads that the control task gives every sentence."""
    drawn = {word: behaviour(word, seed) for words in sentences for word in set(words)}
    return [_heads([drawn[word] for word in words]) for words in sentences]


def constant_scores(train: Sequence[Sequence[str]], scored: Sequence[Sequence[str]], seeds: Sequence[int]) -> Floats:
    """How often the commonest behaviour in training is right in scoring, for the control task of each seed: [seeds]."""
    counts, types = _type_counts(train, scored)
    drawn = np.array([[BEHAVIOURS.index(behaviour(word, seed)) for word in types] for seed in seeds], dtype=np.int64)
    return _constant(counts, drawn)


def mean_constant_score(train: Sequence[Sequence[str]], scored: Sequence[Sequence[str]], seed: int) -> float:
    """The same on average over all control tasks that could be drawn."""
    counts, types = _type_counts(train, scored)
    rng = np.random.default_rng([seed, 7])
    return float(np.mean([_constant(counts, rng.integers(3, size=(1, len(types)))) for _ in range(CONSTANT_DRAWS)]))


def _type_counts(*parts: Sequence[Sequence[str]]) -> tuple[list[Floats], list[str]]:
    """How often each word type occurs in each part, whatever its case, and the types."""
    counted = [Counter(word.lower() for words in part for word in words) for part in parts]
    types = sorted(set().union(*counted))
    return [np.array([counts[word] for word in types], dtype=np.float64) for counts in counted], types


def _constant(counts: Sequence[Floats], drawn: NDArray[np.int64]) -> Floats:
    """drawn: the behaviour of each type, [draws, types]."""
    train, scored = (np.stack([(drawn == way) @ part for way in range(len(BEHAVIOURS))]) for part in counts)
    return np.asarray(scored[train.argmax(0), np.arange(len(drawn))] / counts[1].sum())


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
