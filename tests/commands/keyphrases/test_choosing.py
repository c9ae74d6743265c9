"""Choosing heads on training documents, and the record of those that ship."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest

from headatlas.commands.keyphrases.candidates import between_stop_words, find_candidates
from headatlas.commands.keyphrases.choosing import CUT, TRIED, found_on, key_words, phrase_f1
from headatlas.commands.keyphrases.combination import ranked_heads
from headatlas.commands.keyphrases.evaluation import precision_recall_f1
from headatlas.commands.keyphrases.key_words import OUTSIDE, tag_words
from tests.commands.keyphrases.made_up import TEXTS, document

DOCUMENTS = [document(text, *phrases, name=f"0.{number}") for number, (text, phrases) in enumerate(TEXTS)]
CANDIDATES = [find_candidates(one.words, between_stop_words) for one in DOCUMENTS]


def made_weights(noise):
    """Four heads: by chance, by chance, one that gives key words most, one that gives them least."""
    dice = np.random.default_rng(3)
    found = []
    for one in DOCUMENTS:
        key = tag_words(one.words, one.gold)[0] != OUTSIDE
        weights = dice.random((len(one.words), 4)).astype(np.float32)
        weights[:, 2], weights[:, 3] = key + noise * weights[:, 2], 1 - key
        found.append(weights)
    return found


def test_the_head_that_knows_is_chosen_alone():
    choice = found_on(DOCUMENTS, made_weights(0.01), CANDIDATES, "mean", "all")
    assert (choice.heads, choice.origin) == ((2,), "found on 4 training documents")


def test_as_many_heads_are_taken_as_give_the_best_phrases():
    weights = made_weights(3.0)
    choice = found_on(DOCUMENTS, weights, CANDIDATES, "max", "text")
    order = ranked_heads(key_words(DOCUMENTS, weights)).tolist()
    scores = [phrase_f1(DOCUMENTS, weights, CANDIDATES, order[:size]) for size in (1, 2, 3)]
    assert choice.heads == tuple(order[: 1 + int(np.argmax(scores))])
    assert (choice.pooling, choice.rows) == ("max", "text")


def test_f1_of_phrases_is_that_of_a_plain_loop():
    weights = made_weights(1.0)
    expected = []
    for one, own, received in zip(DOCUMENTS, CANDIDATES, weights, strict=True):
        scores = {
            candidate.stems: max(received[start:end, [0, 2]].sum() / 2 for start, end in candidate.places)
            for candidate in own
        }
        expected.append(precision_recall_f1(sorted(scores, key=lambda stems: -scores[stems]), one.gold, CUT)[2])
    assert phrase_f1(DOCUMENTS, weights, CANDIDATES, [0, 2]) == pytest.approx(np.mean(expected))


def test_signs_are_no_words_to_be_ranked():
    words = key_words(DOCUMENTS, made_weights(1.0))
    count = sum(word not in {",", "."} for one in DOCUMENTS for word in one.words.words)
    assert words.weights.shape == (count, 4)
    assert words.key.sum() == sum((tag_words(one.words, one.gold)[0] != OUTSIDE).sum() for one in DOCUMENTS)


def test_the_record_that_ships_follows_the_rule():
    record = json.loads(
        (files("headatlas.commands.keyphrases") / "shipped" / "embedded.json").read_text(encoding="utf-8")
    )
    precision, scores = record["average_precision"], record["f1_of_ten_phrases_by_number_of_heads"]
    assert list(precision) == record["heads"] == sorted(precision, key=lambda head: -precision[head])
    assert tuple(map(int, scores)) == TRIED
    assert len(record["heads"]) == int(max(scores, key=lambda size: scores[size]))
