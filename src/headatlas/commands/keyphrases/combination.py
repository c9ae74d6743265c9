"""Many heads together as a classifier of key words: logistic regression on the best of them, and a scalar mix of all.

Features are logarithms of the attention that a word receives from each head, standardised on the training words. Heads
are ranked by their average precision there. The regression sees the first 1, 2, 3 and more of them. The mix is one
weighted sum of all heads with weights that are positive and sum to 1, scaled and shifted (the scalar mixing of Tenney
et al. 2019, over heads in place of layers). Two controls: the regression on heads in random order, and naming every
word, the best that can be done without knowing anything. The threshold above which a word is key is that with the best
F1 on the training words; all scores are of other documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from headatlas.progress import moved
from headatlas.statistics.resampling import percentile_interval, poisson_weights

SIZES = (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 144, 256, 512, 1024)
LEAST_WEIGHT = 1e-6  # of received attention, below which the logarithm says nothing
_STEPS, _RATE, _MOST_ROUNDS = 300, 0.05, 300

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KeyWords:
    """The words of documents, one after the other, with what they receive and whether they are key."""

    weights: NDArray[np.float32]  # [words, heads]
    key: NDArray[np.bool_]  # [words]
    documents: Sequence[str]  # the document of each word


@dataclass(frozen=True)
class CurvePoint:
    """How well this number of heads separates key words from others."""

    method: str
    heads: int
    precision: float
    recall: float
    f1: float
    low: float
    high: float


@dataclass(frozen=True)
class Combination:
    """The curve, and what each head counts: its rank from 0, its coefficient among all heads, its share of the mix."""

    curve: list[CurvePoint]
    rank: NDArray[np.int64]  # [heads]
    coefficient: Floats  # [heads]
    share: Floats  # [heads]


def combine_heads(train: KeyWords, test: KeyWords, *, seed: int, resamplings: int) -> Combination:
    """Fit on some documents and score on others."""
    from sklearn.linear_model import LogisticRegression

    order = np.argsort(-head_precisions(train), kind="stable")
    fitted = _features(train.weights)
    centre, spread = fitted.mean(0), fitted.std(0)
    spread[spread == 0] = 1.0
    seen, unseen = (fitted - centre) / spread, (_features(test.weights) - centre) / spread
    curves: dict[str, list[CurvePoint]] = {}
    shuffled = np.random.default_rng([seed, 17]).permutation(len(order))
    for method, heads in (("random_heads", shuffled), ("logistic", order)):
        curve = curves[method] = []
        for size in (*(size for size in SIZES if size < len(order)), len(order)):
            moved()
            chosen = heads[:size]
            model = LogisticRegression(max_iter=_MOST_ROUNDS).fit(seen[:, chosen], train.key)
            scores = [part[:, chosen] @ model.coef_[0] for part in (seen, unseen)]
            curve.append(_point(method, size, scores, train, test, seed, resamplings))
    share = scalar_mix(seen, train.key)
    nothing = [np.zeros(len(part)) for part in (seen, unseen)]
    curve.append(_point("scalar_mix", len(order), [seen @ share, unseen @ share], train, test, seed, resamplings))
    curve.append(_point("every_word", 0, nothing, train, test, seed, resamplings))
    rank = np.argsort(order)
    return Combination(
        [*curve, *curves["random_heads"]], rank, model.coef_[0][rank], share
    )  # the last regression is that on all heads


def head_precisions(words: KeyWords) -> Floats:
    """The average precision of all words ranked by what they receive from each head: [heads]."""
    from sklearn.metrics import average_precision_score

    return np.array([average_precision_score(words.key, column) for column in words.weights.T])


def scalar_mix(features: Floats, key: NDArray[np.bool_]) -> Floats:
    """Shares of the heads, [heads], positive and of sum 1, that with a scale and a shift explain the labels best."""
    inputs, labels = torch.from_numpy(features), torch.from_numpy(key).double()
    logits = torch.zeros(features.shape[1], dtype=torch.float64, requires_grad=True)
    scale, shift = (torch.tensor(start, dtype=torch.float64, requires_grad=True) for start in (1.0, 0.0))
    optimizer = torch.optim.Adam([logits, scale, shift], lr=_RATE)
    for _ in range(_STEPS):
        moved()
        optimizer.zero_grad()
        scores = scale * (inputs @ logits.softmax(0)) + shift
        torch.nn.functional.binary_cross_entropy_with_logits(scores, labels).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return logits.softmax(0).detach().numpy()


def best_threshold(scores: Floats, key: NDArray[np.bool_]) -> float:
    """The score from which on words are key so that F1 is largest."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(key[order])
    f1 = 2 * right / (np.arange(1, len(order) + 1) + max(1, int(key.sum())))
    last_of_equals = np.append(scores[order][1:] != scores[order][:-1], True)
    return float(scores[order][np.argmax(np.where(last_of_equals, f1, -1.0))])


def _features(weights: NDArray[np.float32]) -> Floats:
    return np.log(np.maximum(weights.astype(np.float64), LEAST_WEIGHT))


def _point(
    method: str, heads: int, scores: Sequence[Floats], train: KeyWords, test: KeyWords, seed: int, resamplings: int
) -> CurvePoint:
    named = scores[1] >= best_threshold(scores[0], train.key)
    ids, document = np.unique(np.asarray(test.documents), return_inverse=True)
    counts = np.stack(
        [np.bincount(document, weights=part, minlength=len(ids)) for part in (named & test.key, named, test.key)], 1
    )  # [documents, 3]
    weights = poisson_weights(ids.tolist(), resamplings, seed).T.astype(np.float64)
    right, chosen, key = counts.sum(0)
    drawn = weights @ counts
    low, high = percentile_interval(2 * drawn[:, 0] / np.maximum(drawn[:, 1] + drawn[:, 2], 1), len(ids))
    f1 = 2 * right / max(chosen + key, 1)
    return CurvePoint(method, heads, right / max(chosen, 1), right / max(key, 1), f1, float(low), float(high))
