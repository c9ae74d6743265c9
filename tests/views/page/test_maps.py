"""Maps are off by at most 0.2 %, and predictions are those of a slow search over the words."""

import base64
import json
import zlib

import numpy as np
import pytest

from headatlas.views.page.content import page_content
from headatlas.views.page.maps import LEVELS, NONE, add_examples, packed_example
from tests.views.synthetic_atlas import MENTIONS, WORDS, made_up_example, synthetic_atlas

HEADS = [3, 2]


def bytes_of(text):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)


def example(kind):
    return made_up_example(kind, HEADS, WORDS, np.random.default_rng(kind))


def word_map(maps, word_of):
    """Sum over the tokens attended to, mean over those that attend."""
    size = max(word_of) + 1
    own = [[token for token, word in enumerate(word_of) if word == number] for number in range(size)]
    return np.array([[np.mean([sum(maps[i, j] for j in to) for i in source]) for to in own] for source in own])


def heads_in_a_row(one):
    return [one.maps[layer, head] for layer, number in enumerate(HEADS) for head in range(number)]


def test_weights_are_off_by_at_most_half_a_level():
    one = example(0)
    levels = bytes_of(packed_example(one, HEADS, "mean")["maps"])
    expected = np.stack(heads_in_a_row(one))
    error = np.abs(levels.reshape(expected.shape) / LEVELS - expected).max()
    assert error <= 0.5 / LEVELS + 1e-7
    assert error < 0.002


def test_the_predicted_heads_are_the_most_attended_words():
    one = example(1)
    found = bytes_of(packed_example(one, HEADS, "mean")["predictions"]).reshape(5, 2, len(WORDS))
    for number, maps in enumerate(heads_in_a_row(one)):
        weights = word_map(maps, one.word_of)
        for word in range(len(WORDS)):
            others = [other for other in range(len(WORDS)) if other != word]
            assert found[number, 0, word] == max(others, key=lambda other: weights[word, other])
            assert found[number, 1, word] == max(others, key=lambda other: weights[other, word])


def test_the_predicted_antecedents_are_heads_of_mentions_before():
    one = example(2)
    packed = packed_example(one, HEADS, "mean")
    found = bytes_of(packed["predictions"]).reshape(5, len(MENTIONS))
    for number, maps in enumerate(heads_in_a_row(one)):
        weights = word_map(maps, one.word_of)
        for place, mention in enumerate(MENTIONS):
            before = {other.head for other in MENTIONS if other.end <= mention.start} - {mention.head}
            expected = max(sorted(before), key=lambda word: weights[mention.head, word]) if before else NONE
            assert found[number, place] == expected
    assert packed["antecedents"] == [[], [], [0]]


def test_a_head_without_weights_predicts_nothing():
    one = example(1)
    one.maps[:] = 0
    assert set(bytes_of(packed_example(one, HEADS, "mean")["predictions"])) == {NONE}


@pytest.mark.parametrize("room", [0, 4000, 10**6])
def test_examples_fill_the_room_each_corpus_in_turn(tmp_path, room):
    atlas = synthetic_atlas(tmp_path, HEADS, examples=9)
    content = page_content(atlas)
    before = len(json.dumps(content))
    add_examples(content, atlas, room)
    kept = [one["corpus"] for one in content["examples"]]
    grown = len(json.dumps(content)) - before
    assert grown <= max(room, grown if len(kept) == 1 else 0)
    counts = [kept.count(corpus) for corpus in ("text", "treebank", "coreference")]
    assert max(counts) - min(counts) <= 1
    assert len(kept) == {0: 1, 10**6: 9}.get(room, len(kept))
