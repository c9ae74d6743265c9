"""The control task is random by word type and never the word itself; the online code is what its portions cost."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.attention import AttentionProbe
from headatlas.probes.controls import BEHAVIOURS, behaviour, control_heads
from headatlas.probes.description_length import description_length, portions
from headatlas.probes.training import FEWEST_SENTENCES, TrainingSettings
from tests.probes.random_stores import data, random_store


def test_behaviours_are_drawn_alike_and_by_type():
    drawn = Counter(behaviour(f"word{number}", 0) for number in range(3000))
    assert set(drawn) == set(BEHAVIOURS)
    assert all(900 < count < 1100 for count in drawn.values())
    assert behaviour("The", 4) == behaviour("the", 4)
    assert any(behaviour(f"word{n}", 0) != behaviour(f"word{n}", 1) for n in range(20))


def test_heads_follow_the_behaviour():
    sentences = [[f"w{number % 7}" for number in range(start, start + 6)] for start in range(9)]
    for words, heads in zip(sentences, control_heads(sentences, 3), strict=True):
        for place, (word, head) in enumerate(zip(words, heads.tolist(), strict=True)):
            expected = {"first": 0, "last": 5, "root": ROOT}[behaviour(word, 3)]
            assert head == (ROOT if expected == place else expected)


def test_portions_double_and_can_train():
    ends = portions(12_544)
    assert ends == [25, 50, 100, 201, 401, 784, 1568, 3136, 6272, 12_544]
    assert portions(30) == [30]
    assert portions(100)[0] >= FEWEST_SENTENCES


@pytest.mark.parametrize("telling", [False, True])
def test_a_code_is_short_where_attention_tells(tmp_path, telling):
    sizes = np.random.default_rng(0).integers(3, 8, 120).tolist()
    sentences = data(random_store(tmp_path, sizes, telling=telling))
    quick = TrainingSettings(epochs=8, patience=2, batch_size=2)
    found = description_length(lambda: AttentionProbe(3), sentences, quick, 0)
    uniform = sum(size * np.log2(size) for size in sizes)
    assert found.uniform_bits == pytest.approx(uniform)
    assert (found.bits < 0.75 * uniform) == telling
