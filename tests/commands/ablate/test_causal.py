"""The causal test: matching, the masked words, and the arithmetic of effects, against loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.tasks.causal import (
    MatchedWords,
    RelationWords,
    WordPrediction,
    control_heads,
    lead_statistics,
    match_words,
    try_relation,
    word_classes,
)
from headatlas.corpora.treebanks.sentence import Sentence
from headatlas.encoding.word_segments import parsed_segments
from headatlas.models.gates import gates_without
from headatlas.models.stacks import HeadShape
from headatlas.statistics.resampling import poisson_weights, signs

SENTENCES = ("the old dog saw wolverine", "she sat by the river", "a child ran and ran")


@pytest.fixture(scope="module")
def segments(load_tiny):
    trees = [
        Sentence(f"0.0.{number}", "x", 1, tuple(text.split()), (-1, 0, 0, 0, 0), ("root", *["dep"] * 4), ("",) * 5)
        for number, text in enumerate(SENTENCES)
    ]
    return parsed_segments(trees, load_tiny("bert").tokenizer, max_tokens=64).segments


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), unique=True, min_size=2, max_size=20),
    st.integers(0, 5),
    st.integers(1, 10),
)
@settings(max_examples=80)
def test_matches_are_alike_outside_and_used_once(words, split, most):
    relation = RelationWords("r", 0, 0, frozenset(words[:split]))

    def class_of(word):
        return str(word[1] % 2)

    found = match_words(relation, words, class_of, most=most, seed=1)
    inside, outside = [pair[0] for pair in found.pairs], [pair[1] for pair in found.pairs]
    assert set(inside) <= relation.words
    assert not set(outside) & relation.words
    assert len(set(inside)) == len(inside)
    assert len(set(outside)) == len(outside)
    assert all(class_of(one) == class_of(other) for one, other in found.pairs)
    assert len(found.pairs) + found.unmatched == min(most, len(relation.words))
    assert found == match_words(relation, words[::-1], class_of, most=most, seed=1)


def test_a_match_in_the_same_sentence_is_taken_first():
    relation = RelationWords("r", 0, 0, frozenset([(1, 0)]))
    words = [(0, 0), (0, 1), (1, 0), (1, 3), (2, 0)]
    assert match_words(relation, words, lambda _: "N", most=5, seed=0).pairs == (((1, 0), (1, 3)),)


def test_words_are_alike_by_tag_or_by_frequency(segments):
    tags = [["DT", "", "", "", ""], ["", "", "", "DT", ""], [""] * 5]
    class_of = word_classes(segments, tags)
    assert class_of((0, 0)) == class_of((1, 3)) == "DT"
    assert class_of((2, 2)) == class_of((2, 4)) == "band 2", "ran, twice"
    assert class_of((0, 2)) == class_of((1, 1)) == "band 1"


def test_a_word_is_masked_whole_and_alone(load_tiny, segments):
    model = load_tiny("bert")
    words = [(0, 4), (1, 0), (0, 0)]
    task = WordPrediction(model, segments, words, batch_tokens=500)
    with torch.no_grad():
        scores = dict(zip(task.ids, torch.cat([task.scores(batch) for batch in task.batches]).tolist(), strict=True))
    for segment, word in words:
        ids = torch.from_numpy(segments[segment].ids.astype(np.int64))
        places = [place for place, owner in enumerate(segments[segment].words) if owner == word]
        masked = ids.clone()
        masked[places] = model.tokenizer.mask_token_id
        with torch.no_grad():
            logits = model.network(input_ids=masked[None]).logits[0].log_softmax(-1)
        expected = sum(float(logits[place, ids[place]]) for place in places) / len(places)
        assert scores[f"{segment}.{word}"][0] == pytest.approx(expected, abs=1e-4)
    assert len([place for place in segments[0].words if place == 4]) > 1, "the unknown word has several tokens"


def test_effects_by_hand(load_tiny, segments):
    model = load_tiny("bert")
    relation = RelationWords("dep", 1, 2, frozenset([(0, 2), (1, 4), (2, 1)]))
    pairs = (((0, 2), (0, 1)), ((1, 4), (2, 2)), ((2, 1), (1, 1)))
    given = {"task": "causal", "atlas": "atlas", "treebank": "a.conllu"}
    options = AblateOptions("bert", **given, controls=2, batch_tokens=500, bootstrap=50)
    row = try_relation(model, segments, relation, MatchedWords(pairs, 0), options)
    controls = control_heads(relation, model.shapes["encoder"], 2, 0)
    assert len(controls) == row["controls"] == 2
    assert all(layer == 1 and head != 2 for layer, head in controls)

    def loss(word, head=None):
        task = WordPrediction(model, segments, [word], batch_tokens=500)
        named = [] if head is None else [(head[0] + 1, head[1] + 1)]
        gates = gates_without(named, model.shapes["encoder"], "x", torch.device("cpu"))
        with torch.no_grad(), model.gated(gates):
            return float(task.losses(task.batches[0])[0])

    def effect(head):
        rises = [[loss(word, head) - loss(word) for word in pair] for pair in pairs]
        return np.mean([inside for inside, _ in rises]), np.mean([outside for _, outside in rises])

    change, matched_change = effect((1, 2))
    assert row["change"] == pytest.approx(change, abs=1e-4)
    assert row["matched_change"] == pytest.approx(matched_change, abs=1e-4)
    assert row["effect"] == pytest.approx(change - matched_change, abs=1e-4)
    control = np.mean([inside - outside for inside, outside in map(effect, controls)])
    assert row["control_effect"] == pytest.approx(control, abs=1e-4)
    assert row["lead"] == pytest.approx(row["effect"] - control, abs=1e-4)
    assert row["low"] <= row["lead"] <= row["high"]
    assert (row["count"], row["sentences"]) == (3, 3)


def test_lead_statistics_equal_loops_over_sentences():
    dice = np.random.default_rng(0)
    lead, unit = dice.normal(0.4, 1, size=25), dice.integers(0, 8, size=25)
    unit[:8] = np.arange(8)
    units = [f"0.0.{number}" for number in range(8)]
    low, high, p_value = lead_statistics(lead, unit, units, 2, 60)
    weights, flips = poisson_weights(units, 60, 2), signs(units, 60, 2)
    means, sums = [], []
    for replicate in range(60):
        drawn = [(int(weights[unit[pair], replicate]), lead[pair]) for pair in range(25)]
        means.append(sum(weight * value for weight, value in drawn) / sum(weight for weight, _ in drawn))
        sums.append(sum(flips[unit[pair], replicate] * lead[pair] for pair in range(25)))
    assert (low, high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))
    assert p_value == (1 + sum(value >= lead.sum() for value in sums)) / 61


def test_controls_are_all_other_heads_where_there_are_few():
    relation = RelationWords("r", 0, 1, frozenset())
    assert control_heads(relation, HeadShape((3, 3)), 10, 0) == [(0, 0), (0, 2)]
