"""Rules that know parts of speech, against loops over words; choices are scored on documents they were not made on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.corpora.treebanks.sentence import ROOT, word_class
from headatlas.encoding.word_segments import NO_CLASS
from headatlas.studies.dependencies import OFFSETS, instances_of, offsets_right
from headatlas.studies.tag_rules import BY_OWN_CLASS, SIDES, TagRules, nearest_of_class
from tests.studies.test_dependencies import RELATIONS, trees

CLASSES = ("NOUN", "VERB", "X")
CATEGORIES = len(RELATIONS) + 3


def tagged(sizes, seed=0):
    rng = np.random.default_rng(seed)
    return [replace(one, classes=rng.integers(NO_CLASS, len(CLASSES), one.size)) for one in trees(sizes)]


def nearest_by_hand(segment, word, name, side):
    start = int(segment.counts_as[word])
    places = range(start - 1, -1, -1) if side == "left" else range(start + 1, segment.size)
    return next((place for place in places if segment.classes[place] == CLASSES.index(name)), None)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.integers(0, 99))
def test_the_nearest_word_of_a_class(sizes, seed):
    for segment in tagged(sizes, seed):
        found = nearest_of_class(segment, len(CLASSES))
        for word in range(segment.size):
            for number, name in enumerate(CLASSES):
                for side, side_name in enumerate(SIDES):
                    expected = nearest_by_hand(segment, word, name, side_name)
                    assert found[word, number, side] == (ROOT - 1 if expected is None else expected)


def rules_of(segments, folds):
    words = instances_of(segments)
    category = np.where(words.head == ROOT, len(RELATIONS), words.relation)
    rules = TagRules(CLASSES, CATEGORIES, len(OFFSETS))
    rules.add(segments, category, folds, offsets_right(words))
    counts = np.zeros((CATEGORIES, 2), dtype=np.int64)
    np.add.at(counts, (category, np.repeat(folds, [one.size for one in segments])), 1)
    return rules, counts


@given(st.lists(st.integers(2, 9), min_size=4, max_size=8), st.integers(0, 99))
def test_rules_are_chosen_on_one_half_and_scored_on_the_other(sizes, seed):
    segments = tagged(sizes, seed)
    folds = [number % 2 for number in range(len(segments))]
    rules, counts = rules_of(segments, folds)
    for number in range(3):
        right = [Counter(), Counter()]
        for one, fold in zip(segments, folds, strict=True):
            for word in range(one.size):
                if one.relations[word] == number and one.heads[word] != ROOT:
                    for name in CLASSES:
                        for side in SIDES:
                            right[fold][name, side] += nearest_by_hand(one, word, name, side) == one.heads[word]
        rule = rules.nearest(number, counts[number])
        if not counts[number].all():
            assert np.isnan(rule.accuracy)
            continue
        order = [(name, side) for name in CLASSES for side in SIDES]  # of equals the first is chosen
        best = [max(order, key=lambda key, of=of: of[key]) for of in right]
        expected = (right[1][best[0]] + right[0][best[1]]) / counts[number].sum()
        assert rule.accuracy == pytest.approx(expected)
        assert rule.name.startswith("nearest ")


@given(st.lists(st.integers(2, 9), min_size=4, max_size=8), st.integers(0, 99))
def test_the_best_offset_of_each_class_of_dependents(sizes, seed):
    segments = tagged(sizes, seed)
    folds = [number % 2 for number in range(len(segments))]
    rules, counts = rules_of(segments, folds)
    right = [Counter(), Counter()]
    for one, fold in zip(segments, folds, strict=True):
        for word in range(one.size):
            for offset in OFFSETS:
                place = max(ROOT, min(int(one.counts_as[word]) + offset, one.size - 1))
                right[fold][int(one.classes[word]), offset] += place == one.heads[word]
    found = 0
    for name in range(NO_CLASS, len(CLASSES)):
        best = [max(OFFSETS, key=lambda offset, of=of: of[name, offset]) for of in right]
        found += right[1][name, best[0]] + right[0][name, best[1]]
    every = list(range(CATEGORIES))
    rule = rules.by_own_class(every, counts.sum(0))
    assert rule.name == BY_OWN_CLASS
    assert rule.accuracy == pytest.approx(found / counts.sum())


def test_parts_of_a_corpus_add_up():
    segments = tagged([5, 6, 7, 4])
    whole, _ = rules_of(segments, [0, 1, 0, 1])
    first, _ = rules_of(segments[:1], [0])
    second, _ = rules_of(segments[1:], [1, 0, 1])
    first.merge(second)
    restored = TagRules(CLASSES, CATEGORIES, len(OFFSETS))
    restored.restore(first.state())
    for name, counts in whole.state().items():
        np.testing.assert_array_equal(counts, restored.state()[name])
        assert counts.any()


def test_a_treebank_without_tags_has_no_rule():
    rules = TagRules((), CATEGORIES, len(OFFSETS))
    assert rules.nearest(0, np.array([3, 4])).name == ""
    assert np.isnan(rules.by_own_class([0, 1], np.array([3, 4])).accuracy)


@pytest.mark.parametrize(
    ("coarse", "fine", "expected"),
    [
        ("PROPN", "NNP", "NOUN"),
        ("VERB", "VAFIN", "VERB"),
        ("NP", "NNP", "NOUN"),
        ("VVD", "VBD", "VERB"),
        ("TO", "TO", "ADP"),
        ("N", "Nfs", "N"),
        ("_", "Nfs", "Nfs"),
        ("", "", ""),
        ("_", "_", ""),
    ],
)
def test_word_classes(coarse, fine, expected):
    assert word_class(coarse, fine) == expected
