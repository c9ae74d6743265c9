"""The control task of span probes: an answer belongs to a wording, and answers are as frequent as in training."""

from collections import Counter

import numpy as np

from headatlas.probes.controls import control_answers
from tests.probes.random_spans import random_spans


def test_the_same_wording_has_the_same_answer_whatever_its_case(tmp_path):
    targets, _ = random_spans(tmp_path, np.random.default_rng(0), texts=60, spans=2)
    rng = np.random.default_rng(1)
    texts = [rng.choice(["a", "B", "b", "A"], size=9).tolist() for _ in range(60)]
    pool = np.array([0, 1, 2, 2])
    found = control_answers(targets, texts, pool, seed=0)
    seen = {}
    for words, some, answers in zip(texts, targets.targets, found, strict=True):
        for target, answer in zip(some, answers.tolist(), strict=True):
            wording = tuple(tuple(word.lower() for word in words[start:end]) for start, end in target.words)
            assert seen.setdefault(wording, answer) == answer
    shares = Counter(seen.values())
    assert 0.35 < shares[2] / shares.total() < 0.65  # half of the pool
    other = control_answers(targets, texts, pool, seed=1)
    assert any((one != two).any() for one, two in zip(found, other, strict=True))
