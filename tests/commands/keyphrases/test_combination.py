"""Several heads together: what they should find in made-up words, and thresholds against all there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from headatlas.commands.keyphrases.combination import (
    KeyWords,
    best_threshold,
    combine_heads,
    head_precisions,
    scalar_mix,
)


def made_up(seed, words=600, heads=6):
    """Heads 1 and 4 know something each, the others nothing."""
    rng = np.random.default_rng(seed)
    key = rng.random(words) < 0.3
    noise = rng.normal(size=(words, heads))
    noise[:, 1] += 1.5 * key
    noise[:, 4] += 1.0 * key
    return KeyWords(np.exp(noise).astype(np.float32), key, [f"0.{place // 20}" for place in range(words)])


def test_the_best_heads_come_first_and_more_heads_help():
    train, test = made_up(0), made_up(1)
    assert np.argsort(-head_precisions(train))[:2].tolist() == [1, 4]
    found = combine_heads(train, test, seed=0, resamplings=50)
    curve = {(point.method, point.heads): point for point in found.curve}
    assert list(curve) == [
        ("logistic", 1),
        ("logistic", 2),
        ("logistic", 3),
        ("logistic", 5),
        ("logistic", 6),
        ("scalar_mix", 6),
        ("every_word", 0),
        *(("random_heads", size) for size in (1, 2, 3, 5, 6)),
    ]
    assert curve["random_heads", 1].f1 < curve["logistic", 1].f1
    assert curve["random_heads", 6].f1 == pytest.approx(curve["logistic", 6].f1, abs=0.01), "all heads, in any order"
    assert curve["every_word", 0].f1 == pytest.approx(2 * test.key.mean() / (1 + test.key.mean()))
    assert curve["logistic", 2].f1 > curve["logistic", 1].f1
    assert all(point.low <= point.f1 <= point.high for point in found.curve)
    assert found.rank[[1, 4]].tolist() == [0, 1]
    assert set(np.argsort(-found.coefficient)[:2]) == set(np.argsort(-found.share)[:2]) == {1, 4}


def test_f1_is_scikit_learns():
    train, test = made_up(2), made_up(3)
    (first, *_) = combine_heads(train, test, seed=0, resamplings=10).curve
    threshold = best_threshold(np.log(train.weights[:, 1].astype(float)), train.key)
    named = np.log(test.weights[:, 1].astype(float)) >= threshold
    assert first.f1 == pytest.approx(f1_score(test.key, named), abs=1e-6)


def test_shares_of_the_mix_sum_to_one():
    words = made_up(4)
    share = scalar_mix(np.log(words.weights.astype(float)), words.key)
    assert share.sum() == pytest.approx(1)
    assert (share > 0).all()


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=20))
def test_no_threshold_is_better(words):
    scores, key = np.array([float(score) for score, _ in words]), np.array([known for _, known in words])

    def f1(threshold):
        named = scores >= threshold
        return 2 * (named & key).sum() / max(1, named.sum() + key.sum())

    assert f1(best_threshold(scores, key)) == pytest.approx(max(map(f1, scores)))
