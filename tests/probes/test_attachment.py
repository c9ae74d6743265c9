"""UAS of made-up predictions against counting, and bits against probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headatlas.probes.attachment import Predicted, attach, bootstrap_weights, predict, share_interval
from headatlas.probes.attention import AttentionProbe
from tests.probes.random_stores import data, random_store, random_tree

SIZES = [3, 6, 1, 5, 8]


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    return data(random_store(tmp_path_factory.mktemp("store"), SIZES))


def test_scores_are_counts(sentences):
    rng = np.random.default_rng(5)
    places = [4, 1, 0, 3]
    greedy, tree = ([random_tree(SIZES[place], rng) for place in places] for _ in range(2))
    found = attach(Predicted(greedy, tree, np.zeros(4)), sentences, places, {"punct"})
    right = {"uas": [], "uas_no_punct": [], "uas_tree": [], "uas_tree_no_punct": [], "uuas": []}
    by_relation = {}
    for place, heads, others in zip(places, greedy, tree, strict=True):
        example = sentences.examples[place]
        for word, gold in enumerate(example.heads):
            right["uas"].append(heads[word] == gold)
            right["uas_tree"].append(others[word] == gold)
            if example.relations[word] != "punct":
                right["uas_no_punct"].append(heads[word] == gold)
                right["uas_tree_no_punct"].append(others[word] == gold)
                if gold != -1 and example.relations[gold] != "punct":
                    joined = {frozenset((one, head)) for one, head in enumerate(others.tolist())}
                    right["uuas"].append(frozenset((word, gold)) in joined)
            by_relation.setdefault(example.relations[word], []).append(heads[word] == gold)
    assert found.scores() == {name: pytest.approx(np.mean(values)) for name, values in right.items()}
    rows = {row["relation"]: row for row in found.by_relation(50, 0)}
    assert {name: row["count"] for name, row in rows.items()} == {name: len(v) for name, v in by_relation.items()}
    for name, row in rows.items():
        assert row["uas"] == pytest.approx(np.mean(by_relation[name]))
        assert row["low"] <= row["high"]
    low, high = found.interval(200, 0)
    assert low <= found.scores()["uas_no_punct"] <= high


def test_predictions_are_the_likeliest(sentences):
    torch.manual_seed(0)
    probe = AttentionProbe(3)
    torch.nn.init.normal_(probe.weight, std=5)
    places = [3, 2, 0]
    found = predict(probe, sentences, places, most=2)
    for number, place in enumerate(places):
        logs = probe.log_probabilities(sentences.batch([place], "maps"))[0].detach().double().numpy()
        size = SIZES[place]
        likeliest = [(-1 if row.argmax() == size else row.argmax()) for row in logs]
        assert found.greedy[number].tolist() == likeliest
        gold = [size if head == -1 else head for head in sentences.heads[place]]
        bits = -sum(logs[word, head] for word, head in enumerate(gold)) / np.log(2)
        assert found.bits[number] == pytest.approx(bits, rel=1e-4, abs=1e-6)


def test_an_interval_covers_a_fair_coin():
    rng = np.random.default_rng(0)
    right = rng.binomial(10, 0.5, 200).astype(float)
    low, high = share_interval(right, np.full(200, 10.0), bootstrap_weights([str(n) for n in range(200)], 500, 0))
    assert low < 0.5 < high
    assert 0.03 < high - low < 0.06
