"""Choosing heads on training documents, and the record of those that ship."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest

from headatlas.commands.keyphrases.candidates import between_stop_words, find_candidates
from headatlas.commands.keyphrases.choosing import SCORINGS, TRIED, decide_scoring, find_heads, key_words
from headatlas.commands.keyphrases.combination import head_precisions
from headatlas.commands.keyphrases.evaluation import CUT, count_right, precision_recall_f1
from headatlas.commands.keyphrases.methods import DECIDED, Texts
from headatlas.commands.keyphrases.phrases import OUTSIDE, tag_words
from headatlas.models.stacks import HeadShape
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


def texts(noise):
    uniform = [np.ones(len(one.words)) for one in DOCUMENTS]
    return Texts(DOCUMENTS, CANDIDATES, made_weights(noise), uniform)


def plain_f1(made, heads, scoring):
    """Mean F1 of the first phrases by these heads, in a loop."""
    scores = []
    for one, own, received in zip(made.documents, made.candidates, made.received, strict=True):
        by_stems = {}
        for candidate in own:
            sums = [received[start:end][:, heads].astype(float).mean(1).sum() for start, end in candidate.places]
            sizes = [end - start if scoring == "mean" else 1 for start, end in candidate.places]
            by_stems[candidate.stems] = max(total / size for total, size in zip(sums, sizes, strict=True))
        order = sorted(by_stems, key=lambda stems: -by_stems[stems])
        scores.append(precision_recall_f1(np.array(count_right(order, one.gold, CUT)))[2])
    return np.mean(scores)


def test_the_head_that_knows_is_chosen_alone():
    choice = find_heads(texts(0.01), HeadShape((4,)), "mean", "all", 0)
    assert (choice.heads, choice.origin) == ((2,), "found on 4 training documents")
    assert choice.record(HeadShape((4,)))["names"] == ["1-3"]


def test_as_many_heads_and_the_scoring_are_taken_as_give_the_best_phrases():
    made = texts(3.0)
    choice = find_heads(made, HeadShape((4,)), "max", "text", 0)
    order = np.argsort(-head_precisions(key_words(DOCUMENTS, made.received))).tolist()
    tried = {(scoring, size): plain_f1(made, order[:size], scoring) for scoring in SCORINGS for size in (1, 2, 3)}
    for (scoring, size), f1 in tried.items():
        assert choice.on_training["f1_by_number_of_heads"][scoring][str(size)] == pytest.approx(f1)
    assert tried[choice.scoring["heads"], len(choice.heads)] == pytest.approx(max(tried.values()))
    assert choice.heads == tuple(order[: len(choice.heads)])
    assert (choice.pooling, choice.rows) == ("max", "text")


def test_every_method_is_scored_as_training_documents_have_it():
    made = texts(1.0)
    choice = decide_scoring(find_heads(made, HeadShape((4,)), "mean", "all", 0), made, 0)
    assert tuple(choice.scoring) == DECIDED
    f1 = choice.on_training["f1_by_scoring"]
    assert f1["all_heads"]["mean"] == pytest.approx(plain_f1(made, [0, 1, 2, 3], "mean"))
    for method in DECIDED:
        assert f1[method][choice.scoring[method]] == max(f1[method].values())


def test_signs_are_no_words_to_be_ranked():
    words = key_words(DOCUMENTS, made_weights(1.0))
    count = sum(word not in {",", "."} for one in DOCUMENTS for word in one.words.words)
    assert words.weights.shape == (count, 4)
    assert words.key.sum() == sum((tag_words(one.words, one.gold)[0] != OUTSIDE).sum() for one in DOCUMENTS)


def test_the_record_that_ships_follows_the_rule():
    record = json.loads(
        (files("headatlas.commands.keyphrases") / "shipped" / "embedded.json").read_text(encoding="utf-8")
    )
    precision, tried = (record["on_training"][name] for name in ("average_precision", "f1_by_number_of_heads"))
    assert list(precision) == record["names"] == sorted(precision, key=lambda head: -precision[head])
    assert all(tuple(map(int, scores)) == TRIED for scores in tried.values())
    best = max(
        ((scoring, size) for scoring in SCORINGS for size in tried[scoring]), key=lambda pair: tried[pair[0]][pair[1]]
    )
    assert (record["scoring"]["heads"], str(len(record["names"]))) == best
    assert tuple(record["scoring"]) == DECIDED
