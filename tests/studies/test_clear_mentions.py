"""Stretches for figure 5: short, with the mention attending most to its antecedent, the clearest first."""

from __future__ import annotations

import numpy as np
import pandas as pd

from headatlas.corpora.coreference.mentions import Mention
from headatlas.encoding.mention_segments import MentionSegment
from headatlas.encoding.template import SPECIAL
from headatlas.studies.clear_mentions import DIRECTION, ClearMentions, first_stretch
from headatlas.studies.kept_maps import LONGEST, SHORTEST
from headatlas.studies.study import Setup
from random_maps import batch_of, random_maps, show

SIZE = 12


def segment(number, places):
    words = np.array([SPECIAL, *range(SIZE), SPECIAL], dtype=np.int32)
    ids = np.zeros_like(words)
    mentions = tuple(Mention(at, at + 1, at, entity, "nominal") for at, entity in sorted(places.items()))
    text = tuple(f"{number}.{word}" for word in range(SIZE))
    return MentionSegment(f"0.0.{number}", ids, ids, words, text, "0.0", ("",) * SIZE, mentions)


def best(layer, head):
    row = {"mention_type": "all", "candidates": "preceding", "layer": layer, "head": head, "accuracy": 0.5}
    return pd.DataFrame([row, row | {"candidates": "words", "layer": 9}])


def test_stretches_are_those_that_a_picture_shows_well():
    assert first_stretch(segment(0, {1: "a", 2: "a"})) is None  # too short
    assert first_stretch(segment(0, {1: "a", 9: "b"})) is None  # no antecedent
    assert first_stretch(segment(0, {1: "a", 5: "b", 8: "a"}))[1:] == (1, tuple(f"0.{n}" for n in range(1, 9)), 8, 1)


def test_every_stretch_is_right_and_the_clearest():
    rng = np.random.default_rng(0)
    segments = []
    for number in range(40):
        first, second = sorted(rng.choice(SIZE, 2, replace=False))
        segments.append(segment(number, {int(first): "a", int(second): "a"}))
    maps = random_maps(batch_of(segments), 2, 3)
    kept = show(ClearMentions(segments, Setup()), [batch_of(segments[:20]), batch_of(segments[20:])], 2, 3)
    clear = []
    for row, one in enumerate(segments):
        antecedent, mention = (each.head for each in one.mentions)
        weights = maps[1][row, 2, mention + 1, 1:-1].numpy().copy()
        weights[mention] = 0
        if weights.argmax() == antecedent and SHORTEST <= mention + 1 - antecedent <= LONGEST:
            clear.append((weights[antecedent], one.text[antecedent : mention + 1]))
    expected = [words for _, words in sorted(clear, reverse=True)[:2]]
    examples = kept.clearest(best(2, 3))
    assert expected
    assert [sentence.words for _, sentence in examples] == expected
    for said, sentence in examples:
        assert (said["relation"], said["direction"], said["layer"], said["head"]) == ("coreference", DIRECTION, 2, 3)
        assert sentence.pairs == ((len(sentence.words) - 1, 0),)
        assert sentence.weights.shape == (len(sentence.words),) * 2
    assert not kept.clearest(best(2, 3).iloc[1:])
