"""Attention to special tokens by the word that attends, against a loop; and intervals that hold."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import NO_CLASS
from headatlas.studies.resting import ALL, DEPENDENT, GOVERNOR, TAG, Resting, rests_elsewhere
from random_maps import batch_of, random_maps, show
from tests.studies.test_dependencies import HEADS, LAYERS, RELATIONS, study, trees

CLASSES = ("NOUN", "VERB")


def tagged(sizes):
    rng = np.random.default_rng(0)
    return [replace(one, classes=rng.integers(NO_CLASS, len(CLASSES), one.size)) for one in trees(sizes)]


def by_hand(segments):
    """values[layer, head, by, word]: the attention to special tokens from each such word."""
    values = defaultdict(list)
    maps = random_maps(batch_of(segments), LAYERS, HEADS)
    for row, one in enumerate(segments):
        special = np.flatnonzero(one.words == SPECIAL)
        kinds = defaultdict(set)
        for word in range(one.size):
            kinds[word].add((ALL, ALL))
            if one.classes[word] != NO_CLASS:
                kinds[word].add((TAG, CLASSES[one.classes[word]]))
            if one.heads[word] != ROOT:
                kinds[int(one.counts_as[word])].add((DEPENDENT, RELATIONS[one.relations[word]]))
                kinds[int(one.heads[word])].add((GOVERNOR, RELATIONS[one.relations[word]]))
        for word, of_word in kinds.items():
            tokens = np.flatnonzero(one.words == word)
            for layer in range(LAYERS):
                for head in range(HEADS):
                    if len(tokens):
                        weights = maps[layer][row, head].double().numpy()[tokens][:, special]
                        for kind in of_word:
                            values[layer + 1, head + 1, *kind].append(weights.sum(1).mean())
    return values


@given(st.lists(st.integers(1, 7), min_size=1, max_size=5))
@settings(max_examples=12)
def test_the_table_is_that_of_the_loop(sizes):
    segments = tagged(sizes)
    done = study()
    done._classes = CLASSES
    table = show(done, [batch_of(segments)], LAYERS, HEADS).frames()["resting"]
    expected = by_hand(segments)
    assert {tuple(row) for row in table[["layer", "head", "by", "word"]].itertuples(index=False)} == set(expected)
    for row in table.itertuples():
        values = expected[row.layer, row.head, row.by, row.word]
        every = expected[row.layer, row.head, ALL, ALL]
        assert row.count == len(values)
        assert row.value == pytest.approx(np.mean(values), abs=1e-6)
        if len(every) > len(values):
            others = (np.sum(every) - np.sum(values)) / (len(every) - len(values))
            assert row.others == pytest.approx(others, abs=1e-6)
            assert row.difference == pytest.approx(others - np.mean(values), abs=1e-6)
        else:
            assert np.isnan(row.others)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    """Documents with an effect of their own, on all words alike; dependents truly rest 0.1 less than others."""
    rng = np.random.default_rng(5)
    covered = {"value": 0, "difference": 0}
    runs = 120
    segments = trees([6] * 60)
    words = sum(one.size for one in segments)
    units = [f"document {number // 2}" for number in range(len(segments))]
    for run in range(runs):
        resting = Resting(RELATIONS, (), [(1, 1)])
        effect = np.repeat(rng.normal(0, 0.05, len(segments) // 2), 12)
        attention = 0.5 + effect + rng.normal(0, 0.05, words)
        starts = np.repeat(np.arange(len(segments)) * 6, 6)
        is_det = np.concatenate([(one.relations == 0) & (one.heads != ROOT) for one in segments])
        predictors = starts + np.concatenate([one.counts_as for one in segments])
        dependents = np.zeros(words, dtype=bool)
        dependents[predictors[is_det]] = True
        attention[dependents] -= 0.1
        resting.add(torch.from_numpy(attention[:, None]), segments, np.ones(words, bool), [f"{run} {u}" for u in units])
        row = rests_elsewhere(
            resting.frame(), {"relation": "det", "direction": "dependent_to_head", "layer": 1, "head": 1}
        )
        covered["value"] += row["low"] < 0.4 < row["high"]
        covered["difference"] += row["difference_low"] < 0.1 < row["difference_high"]
    assert all(0.9 < number / runs < 0.99 for number in covered.values()), covered


def test_a_best_head_from_head_to_dependent_asks_about_the_words_that_have_such_dependents():
    segments = trees([6] * 20)
    table = show(study(), [batch_of(segments)], LAYERS, HEADS).frames()["resting"]
    row = {"relation": "det", "direction": "head_to_dependent", "layer": 2, "head": 3}
    found = rests_elsewhere(table, row)
    assert (found["by"], found["word"], found["layer"], found["head"]) == (GOVERNOR, "det", 2, 3)
    assert rests_elsewhere(table, row | {"relation": "unheard"}) is None
