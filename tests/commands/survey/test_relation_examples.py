"""Examples are clear: the head is right about every pair, and none that is clearer was left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from headatlas.commands.survey.examples import LONGEST, SHORTEST, relation_examples
from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.word_segments import parsed_segments

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
    best = pd.DataFrame(rows, columns=["relation", "layer", "head", "direction", "accuracy"])
    options = {"kinds": kind_table(model.tokenizer), "how": "mean", "stack": "encoder"}
    examples = relation_examples(model, sample.segments, sample.relations, best, **options, batch_tokens=50)
    again = relation_examples(model, sample.segments, sample.relations, best, **options, batch_tokens=5000)
    assert [example.words for example in examples] == [example.words for example in again]
    assert {example.relation for example in examples} <= {"det", "obj"}
    assert examples
    clearest = {}
    for example in examples:
        assert SHORTEST <= len(example.words) <= LONGEST
        weights = example.weights if direction == "dependent_to_head" else example.weights.T
        least = []
        for dependent, head in example.pairs:
            others = [weight if word != dependent else -1 for word, weight in enumerate(weights[dependent])]
            assert int(np.argmax(others)) == head
            least.append(weights[dependent, head])
        assert min(least) <= clearest.setdefault(example.relation, min(least))
