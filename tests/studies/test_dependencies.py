"""Heads as classifiers of dependencies, against a loop over words, heads and directions."""

from __future__ import annotations

import zlib
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.batches import make_batch
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import ParsedSegment
from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.run import run_studies
from headatlas.errors import ModelError
from headatlas.models.stacks import HeadShape
from headatlas.results.tables import TABLES
from headatlas.studies.dependencies import DIRECTIONS, OFFSETS, Dependencies, instances_of, offsets_right
from headatlas.studies.dependency_findings import CLITIC, NOUN
from headatlas.studies.study import LayerMap
from random_maps import batch_of, random_maps, segment, show, table_of

RELATIONS = ("det", "nsubj", "punct", "root")
LAYERS, HEADS = 2, 3


def tree(name, size, seed=0):
    """A sentence of random tokens, heads and relations; some words have no token, some count as the next."""
    rng = np.random.default_rng(zlib.crc32(f"{name} {seed}".encode()))
    tokens = rng.choice([0, 1, 1, 1, 2, 3], size)
    tokens[0] = 1
    words = np.array([SPECIAL, *np.repeat(np.arange(size), tokens), SPECIAL], dtype=np.int32)
    heads = np.array([rng.choice([other for other in range(-1, size) if other != word]) for word in range(size)])
    root = rng.integers(size)
    heads[root] = ROOT
    relations = rng.integers(0, 3, size)
    relations[root] = 3
    counts_as = np.where(rng.random(size) < 0.1, np.minimum(np.arange(size) + 1, size - 1), np.arange(size))
    zeros = np.zeros_like(words)
    document = name.rpartition(".")[0]
    return ParsedSegment(name, zeros, zeros, words, ("w",) * size, document, heads, relations, counts_as)


def trees(sizes):
    return [tree(f"0.{number // 2}.{number}", size) for number, size in enumerate(sizes)]


def study(**changes):
    changes = {"least_count": 1, "seed": 3, "replicates": 20, "permutations": 20} | changes
    return Dependencies(RELATIONS, **changes)


def predicted_by_hand(weights, segment):
    """Both predictions of every word from a head's map [n, n], by the definitions; None where there is none.

    And the same with special tokens as candidates, where a special token's prediction counts as None.
    """
    places = [np.flatnonzero(segment.words == word) for word in range(segment.size)]
    places += [[place] for place in np.flatnonzero(segment.words == SPECIAL)]
    words = np.zeros((len(places), len(places)))
    for i, of_i in enumerate(places):
        for j, of_j in enumerate(places):
            if len(of_i) and len(of_j) and i != j:
                words[i, j] = weights[of_i][:, of_j].sum(1).mean()
    found = {}
    for direction, matrix in zip(DIRECTIONS, (words, words.T), strict=True):
        for special, size in ((False, segment.size), (True, len(places))):
            picks = [int(np.argmax(row[:size])) if row[:size].max() > 0 else None for row in matrix[: segment.size]]
            found[direction, special] = [None if pick is None or pick >= segment.size else pick for pick in picks]
    return found


def accuracies_by_hand(segments):
    """correct[relation, layer, head, direction, special] and count[relation], readings of all included."""
    correct, count = Counter(), Counter()
    batch = batch_of(segments)
    maps = random_maps(batch, LAYERS, HEADS)
    for row, one in enumerate(segments):
        n = len(one)
        asked = []  # the word that predicts, the true head, and the names under which it counts
        for word in range(one.size):
            is_root = one.heads[word] == ROOT
            relation = RELATIONS[one.relations[word]]
            names = ["all"] if is_root else ["all", "all_but_root", relation]
            if not is_root and relation != "punct":
                names.append("all_but_root_punct")
            asked.append((one.counts_as[word], one.heads[word], names))
            if not is_root and one.counts_as[word] != word:
                asked += [(one.counts_as[word], one.heads[word], [CLITIC]), (word, one.heads[word], [NOUN])]
        for _, _, names in asked:
            count.update(names)
        for layer in range(LAYERS):
            for head in range(HEADS):
                found = predicted_by_hand(maps[layer][row, head, :n, :n].double().numpy(), one)
                for (direction, special), predicted in found.items():
                    for word, true, names in asked:
                        if true != ROOT and predicted[word] == true:
                            correct.update((name, layer + 1, head + 1, direction, special) for name in names)
    return correct, count


@given(st.lists(st.integers(1, 7), min_size=1, max_size=5))
@settings(max_examples=15)
def test_the_table_is_that_of_the_loop(sizes):
    segments = trees(sizes)
    correct, count = accuracies_by_hand(segments)
    table = table_of(show(study(), [batch_of(segments)], LAYERS, HEADS))
    assert set(table["relation"]) == set(count)
    assert len(table) == len(count) * LAYERS * HEADS * 2
    for row in table.itertuples():
        key = (row.relation, row.layer, row.head, row.direction)
        assert row.correct == correct[*key, False]
        assert row.with_special == correct[*key, True] / row.count
        assert row.count == count[row.relation]
        assert row.accuracy == row.correct / row.count


@given(st.lists(st.integers(1, 6), min_size=2, max_size=6), st.data())
@settings(max_examples=8)
def test_batches_order_and_merging_change_nothing(sizes, data):
    segments = trees(sizes)
    order = data.draw(st.permutations(segments))
    cut = data.draw(st.integers(1, len(segments) - 1))
    whole = show(study(), [batch_of(segments)], LAYERS, HEADS).frames()
    parts = show(study(), [batch_of(order[:cut]), batch_of(order[cut:])], LAYERS, HEADS).frames()
    merged = show(study(), [batch_of(order[cut:])], LAYERS, HEADS)
    merged.merge(show(study(), [batch_of(order[:cut])], LAYERS, HEADS))
    for name, table in merged.frames().items():
        pd.testing.assert_frame_equal(table, whole[name])
        pd.testing.assert_frame_equal(table, parts[name])


def test_integer_sums_survive_a_checkpoint(tmp_path):
    batches = [batch_of(trees([5, 4])), batch_of(trees([6]))]
    first = show(study(), batches[:1], LAYERS, HEADS)
    checkpoint = Checkpoint(tmp_path / "state.safetensors", {})
    checkpoint.save({"dependencies": first}, [0])
    resumed = study()
    resumed.start(HeadShape((HEADS,) * LAYERS))
    assert checkpoint.resume({"dependencies": resumed}, 2) == ({0}, {})
    for key, array in first.state().items():
        assert array.dtype == resumed.state()[key].dtype
        assert array.dtype.kind == "i" or not key.startswith("dependencies.")
        np.testing.assert_array_equal(array, resumed.state()[key])


def test_the_best_heads_follow_from_the_table():
    done = show(study(), [batch_of(trees([7] * 30))], LAYERS, HEADS)
    tables = done.frames()
    every, best = tables["dependencies"], tables["dependency_best"]
    assert best["relation"].tolist()[:3] == ["all", "all_but_root", "all_but_root_punct"]
    assert best["count"].iloc[3:].is_monotonic_decreasing
    assert "punct" not in set(best["relation"])
    assert "punct" in set(every["relation"])
    assert "root" not in set(every["relation"])
    for row in best.itertuples():
        of_relation = every[every["relation"] == row.relation]
        top = of_relation.loc[of_relation["accuracy"].idxmax()]
        assert (row.layer, row.head, row.direction) == (top["layer"], top["head"], top["direction"])
        assert (row.accuracy, row.low, row.high) == pytest.approx((top["accuracy"], top["low"], top["high"]))
        assert row.low <= row.accuracy <= row.high
        assert row.held_out <= row.accuracy
        assert row.baseline_held_out <= row.baseline
        assert 0 < row.p_value <= 1


def test_rare_relations_have_no_best_head():
    done = show(study(least_count=10_000), [batch_of(trees([7] * 5))], LAYERS, HEADS)
    assert done.frames()["dependency_best"]["relation"].tolist() == ["all", "all_but_root", "all_but_root_punct"]
    assert {"det", "nsubj"} < set(table_of(done)["relation"])


def test_the_tables_have_the_promised_columns():
    tables = show(study(), [batch_of(trees([5, 6]))], LAYERS, HEADS).frames()
    for name, table in tables.items():
        assert table.columns.tolist() == TABLES[name].names


def offsets_by_hand(segments):
    right = []
    for one in segments:
        for word in range(one.size):
            row = []
            for offset in OFFSETS:
                place = int(one.counts_as[word]) + offset
                row.append(max(ROOT, min(place, one.size - 1)) == one.heads[word])
            right.append(row)
    return right


def test_offsets_equal_the_loop():
    segments = trees([1, 2, 7, 9])
    assert offsets_right(instances_of(segments)).tolist() == offsets_by_hand(segments)


def test_offsets_reach_the_root_before_the_sentence_and_the_last_word_behind_it():
    one = ParsedSegment(
        "0.0.0",
        *(np.zeros(2, np.int32),) * 2,
        np.array([0, 1], np.int32),
        text=("a", "b"),
        document="0.0",
        heads=np.array([ROOT, 1]),  # the second word's head is, absurdly, itself
        relations=np.zeros(2, np.int32),
        counts_as=np.arange(2),
    )
    first, second = offsets_right(instances_of([one]))
    assert first.tolist() == [offset < 0 for offset in OFFSETS]
    assert second.tolist() == [offset > 0 for offset in OFFSETS]


def test_a_map_that_is_not_finite_is_refused():
    batch = batch_of(trees([4]))
    broken = study()
    broken.start(HeadShape((HEADS,)))
    [weights] = random_maps(batch, 1, HEADS)
    weights[0, 1, 1, 1] = torch.nan
    broken.see(0, LayerMap(weights, batch, None))
    with pytest.raises(ModelError, match="1-2"):
        broken.end_batch(batch)


def test_segments_without_trees_are_refused():
    with pytest.raises(TypeError, match="not of the kind"):
        show(study(), [batch_of([segment([1, 0, 2])])])


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_model_is_studied_in_both_directions(load_tiny, family):
    """With a causal model no word finds a head to its right by row, or to its left by column."""
    model = load_tiny(family)
    size = 8
    heads = {"left": np.arange(size) - 1, "right": np.array([*range(1, size), ROOT])}
    best = {}
    for side, of_words in heads.items():
        words = np.arange(size, dtype=np.int32)
        one = ParsedSegment(
            "0.0.0",
            np.arange(20, 20 + size, dtype=np.int32),
            np.zeros(size, np.uint8),
            words,
            ("w",) * size,
            "0.0",
            of_words,
            np.zeros(size, np.int32),
            words,
        )
        done = Dependencies(["dep"], least_count=1, replicates=0, permutations=0)
        run_studies(model, [one], {"d": done}, kinds=kind_table(model.tokenizer), batch_tokens=99)
        table = table_of(done)
        best[side] = table[table["relation"] == "dep"].groupby("direction")["correct"].max()
    if family == "gpt2":
        assert best["right"]["dependent_to_head"] == 0
        assert best["left"]["head_to_dependent"] == 0
    assert best["left"]["dependent_to_head"] > 0
    assert best["right"]["head_to_dependent"] > 0


def test_the_batch_may_carry_the_kinds_of_any_tokenizer(load_tiny):
    batch = make_batch(trees([3]), kind_table(load_tiny("bert").tokenizer), 0)
    assert table_of(show(study(), [batch], LAYERS, HEADS))["count"].max() == 3
