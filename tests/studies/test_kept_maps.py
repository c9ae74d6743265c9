"""Kept maps are the model's; clear sentences are right about every pair, and none that is clearer was left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.word_segments import parsed_segments
from headatlas.engine.run import run_studies
from headatlas.studies.kept_maps import LONGEST, SHORTEST, ClearSentences, KeptMaps
from headatlas.studies.study import Setup

WORDS = ["the", "old", "man", "saw", "a", "little", "dog", "and", "ran", "by", "red", "water", "house", "she", "night"]


def sentences(dice, count):
    for number in range(count):
        size = int(dice.integers(2, 17))
        words = tuple(dice.choice(WORDS, size))
        heads = (ROOT, *(int(dice.integers(0, word)) for word in range(1, size)))
        relations = ("root", *dice.choice(["det", "obj", "rare"], size - 1, p=[0.5, 0.45, 0.05]))
        yield Sentence(f"0.0.{number}", Path("t"), 1, words, heads, tuple(map(str, relations)), ("",) * size)


@pytest.mark.parametrize("direction", ["dependent_to_head", "head_to_dependent"])
def test_every_example_is_right_and_the_clearest(load_tiny, direction):
    model = load_tiny("bert")
    sample = parsed_segments(sentences(np.random.default_rng(1), 60), model.tokenizer, max_tokens=60)
    rows = [("all", 1, 1, direction, 0.5), ("det", 1, 2, direction, 0.4), ("obj", 2, 4, direction, 0.3)]
    rows.append(("rare", 2, 1, direction, 0.2))
    best = pd.DataFrame(rows, columns=["relation", "layer", "head", "direction", "accuracy"])
    setup = Setup(least_count=30, corpus={"relations": sample.relations, "label_set": "universal"})

    def clearest(batch_tokens):
        study = ClearSentences(sample.segments, setup)
        run_studies(
            model, sample.segments, {"clear": study}, kinds=kind_table(model.tokenizer), batch_tokens=batch_tokens
        )
        return [(row["relation"], sentence) for row, sentence in study.clearest(best)]

    examples, again = clearest(50), clearest(5000)
    assert [example.words for _, example in examples] == [example.words for _, example in again]
    assert {relation for relation, _ in examples} == {"det", "obj"}  # `rare` is too rare
    assert examples
    smallest = {}
    for relation, example in examples:
        assert SHORTEST <= len(example.words) <= LONGEST
        weights = example.weights if direction == "dependent_to_head" else example.weights.T
        least = []
        for dependent, head in example.pairs:
            others = [weight if word != dependent else -1 for word, weight in enumerate(weights[dependent])]
            assert int(np.argmax(others)) == head
            least.append(weights[dependent, head])
        assert min(least) <= smallest.setdefault(relation, min(least))


def test_maps_are_kept_by_id_whatever_the_batches(load_tiny, segments_for):
    model = load_tiny("bert")
    segments = segments_for(model.tokenizer)
    kept = KeptMaps(segments[:2])
    run_studies(model, segments, {"examples": kept}, kinds=kind_table(model.tokenizer), batch_tokens=5000)
    alone = KeptMaps(segments[:2])
    run_studies(model, segments[:2], {"examples": alone}, kinds=kind_table(model.tokenizer), batch_tokens=1)
    for segment in segments[:2]:
        maps = kept.maps_of(segment)
        assert maps.shape[2:] == (len(segment), len(segment))
        np.testing.assert_allclose(maps.sum(-1), 1, atol=2e-3)
        np.testing.assert_allclose(maps, alone.maps_of(segment), atol=1e-3)
