"""Heads by relation: against loops over arcs, on attention that tells and on attention that does not."""

import numpy as np
import pytest

from headatlas.probes import arcs as module
from headatlas.probes.arcs import Arcs, read_arcs, relation_heads
from headatlas.probes.attention import AttentionProbe
from headatlas.probes.baselines import adjacent_edges
from headatlas.probes.controls import behaviour, constant_scores, mean_constant_score
from tests.probes.random_stores import data, random_store


@pytest.fixture(autouse=True)
def few_permutations(monkeypatch):
    monkeypatch.setattr(module, "PERMUTATIONS", 199)


def test_a_head_alone_is_right_where_its_largest_attention_is_the_head(tmp_path):
    rng = np.random.default_rng(0)
    sentences = data(random_store(tmp_path, rng.integers(2, 9, 12).tolist(), telling=False))
    probe = AttentionProbe(3)
    found = read_arcs(probe, sentences, range(12), most=5)
    slow = {}
    for place in range(12):
        record = sentences.store[place]
        for j, head in enumerate(record.heads.tolist()):
            if head < 0:
                continue
            others = [i for i in range(len(record.heads)) if i != j]
            up = [max(others, key=lambda i: record.maps[k, j, i]) == head for k in range(3)]
            down = [max(others, key=lambda i: record.maps[k, i, j]) == head for k in range(3)]
            slow.setdefault(place, []).append((head - j, up + down))
    for place, rows in slow.items():
        here = found.sentence == place
        assert found.offset[here].tolist() == [offset for offset, _ in rows]
        assert found.right[here].tolist() == [right for _, right in rows]


def made_up_arcs(rng, helpful):
    """Arcs of three relations; if helpful, head 2 contributes to `det` and finds it alone."""
    count = 600
    relation = rng.choice(["det", "nsubj", "obj"], count)
    contribution, right = rng.normal(size=(count, 8)), rng.random((count, 8)) < 0.2
    if helpful:
        contribution[relation == "det", 2] += 2
        right[relation == "det", 2] = rng.random((relation == "det").sum()) < 0.9
    offset = rng.integers(-3, 4, count)
    ids = [f"0.{number}.0" for number in range(100)]
    return Arcs(np.arange(count) % 100, relation, offset, contribution, contribution, right, ids)


def test_the_head_of_a_relation_is_named_with_its_numbers():
    arcs = made_up_arcs(np.random.default_rng(1), helpful=True)
    heads = {head.relation: head for head in relation_heads(arcs, 200, 0)}
    det = heads["det"]
    here = arcs.relation == "det"
    assert (det.place, det.best, det.count, det.named) == (2, 2, int(here.sum()), True)
    shares = {offset: float((arcs.offset[here] == offset).mean()) for offset in range(-3, 4)}
    assert det.offset_accuracy == pytest.approx(max(shares.values()))
    assert det.lead == pytest.approx(arcs.right[here, 2].mean() - max(shares.values()))
    assert det.low < det.lead < det.high
    assert det.p_value == pytest.approx(1 / 200)
    assert not heads["nsubj"].named
    assert not heads["obj"].named


def test_noise_names_no_head_more_often_than_stated():
    named = sum(
        head.named
        for seed in range(20)
        for head in relation_heads(made_up_arcs(np.random.default_rng(seed), False), 50, 0)
    )
    assert named == 0


def test_the_p_value_is_that_of_permuted_relations_over_all_heads():
    """Without any difference between relations, p-values are spread evenly."""
    found = [
        head.p_value
        for seed in range(60)
        for head in relation_heads(made_up_arcs(np.random.default_rng(seed), False), 20, seed)
    ]
    assert np.mean(np.array(found) <= 0.05) < 0.1


def test_relations_with_few_arcs_are_passed_over():
    arcs = made_up_arcs(np.random.default_rng(2), True)
    few = np.where(arcs.relation == "obj", "rare", arcs.relation)
    few[np.flatnonzero(few == "rare")[19:]] = "det"
    assert [head.relation for head in relation_heads(Arcs(**vars(arcs) | {"relation": few}), 20, 0)] == ["det", "nsubj"]


def test_adjacent_edges_leave_punctuation_out():
    heads = np.array([1, -1, 1, 1])  # the comma between the second and the last word is left out
    words = np.array([True, True, False, True])
    assert adjacent_edges(heads, words) == (2, 2)
    assert adjacent_edges(np.array([2, 0, -1]), np.full(3, True)) == (1, 2)


def test_constant_answers_equal_a_slow_count():
    rng = np.random.default_rng(3)
    train, scored = ([rng.choice(["a", "B", "c", "D", "e"], 6).tolist() for _ in range(9)] for _ in range(2))
    found = constant_scores(train, scored, [0, 1, 2])
    for seed in range(3):
        behaviours = [behaviour(word, seed) for words in train for word in words]
        commonest = max(("first", "last", "root"), key=behaviours.count)
        asked = [behaviour(word, seed) for words in scored for word in words]
        assert found[seed] == pytest.approx(asked.count(commonest) / len(asked))
    mean = mean_constant_score(train, scored, 0)
    many = constant_scores(train, scored, range(400))
    assert mean == pytest.approx(many.mean(), abs=4 * many.std() / 20)
