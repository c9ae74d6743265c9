"""Antecedent selection against a loop that anybody can read, and the same sums however the corpus is cut."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.corpora.coreference.mentions import MENTION_TYPES, Mention
from headatlas.encoding.mention_segments import MentionSegment
from headatlas.models.stacks import HeadShape
from headatlas.studies.coreference import RULES, Coreference
from headatlas.studies.study import LayerMap
from random_maps import batch_of, random_maps, show, table_of

TEXT = ("Anna", "she", "king", "the", "it", "dogs", "he", "Anna", "queen", "they")
RESAMPLING = {"replicates": 20, "permutations": 20}


def segment(spans, size=8, name="0.0.0", split=None):
    """Words of one token each between two special tokens; the word `split` has two."""
    words = [-1, *range(size), -1]
    if split is not None:
        words.insert(words.index(split), split)
    ids = np.zeros(len(words), dtype=np.int32)
    mentions = tuple(
        Mention(start, end, head, f"e{entity}", MENTION_TYPES[head % 3]) for start, end, head, entity in sorted(spans)
    )
    return MentionSegment(
        name, ids, ids.astype(np.uint8), np.asarray(words, dtype=np.int32), TEXT[:size], name.rpartition(".")[0],
        ("",) * size, mentions,
    )  # fmt: skip


spans = st.integers(0, 7).flatmap(
    lambda start: st.integers(start + 1, min(8, start + 3)).flatmap(
        lambda end: st.tuples(st.just(start), st.just(end), st.integers(start, end - 1), st.integers(0, 2))
    )
)
corpora = st.lists(
    st.tuples(st.lists(spans, max_size=7, unique_by=lambda span: span[:2]), st.booleans()), min_size=1, max_size=5
)


def segments_of(corpus):
    return [
        segment(found, name=f"0.{n // 2}.{n}", split=3 if split else None) for n, (found, split) in enumerate(corpus)
    ]


def reworded(mention, antecedents, words):
    """By the definition: two that are not pronouns, and no common head word."""
    if mention.type == "pronoun" or not [other for other in antecedents if other.type != "pronoun"]:
        return False
    return all(words[other.head].lower() != words[mention.head].lower() for other in antecedents)


def slow_answers(segments, layers=2, heads=3):
    """(layer, head, type, rule) -> right and asked, word by word."""
    right, asked = {}, {}
    for one in segments:
        for layer, weights in enumerate(random_maps(batch_of([one]), layers, heads)):
            tokens = [np.flatnonzero(one.words == word) for word in range(one.size)]
            for head, mention in product(range(heads), one.mentions):
                before = [other for other in one.mentions if other.end <= mention.start]
                same = [other for other in before if other.entity == mention.entity]
                true = {other.head for other in same}
                if not true:
                    continue
                choices = {
                    "preceding": {other.head for other in before},
                    "mentions": {other.head for other in one.mentions} - {mention.head},
                    "words": set(range(one.size)) - {mention.head},
                }
                for rule, words in choices.items():
                    attention = {
                        word: float(np.mean([weights[0, head, i][tokens[word]].sum() for i in tokens[mention.head]]))
                        for word in sorted(words)
                    }
                    best = max(attention, key=lambda word: attention[word])
                    for kind in ("all", mention.type, *(["reworded"] if reworded(mention, same, one.text) else [])):
                        key = (layer + 1, head + 1, kind, rule)
                        right[key] = right.get(key, 0) + (attention[best] > 0 and best in true)
                        asked[key] = asked.get(key, 0) + 1
    return right, asked


@settings(max_examples=20)
@given(corpora)
def test_every_head_rule_and_type_against_the_loop(corpus):
    segments = segments_of(corpus)
    table = table_of(show(Coreference(**RESAMPLING), [batch_of(segments)]))
    right, asked = slow_answers(segments)
    keys = [tuple(row) for row in table[["layer", "head", "mention_type", "candidates"]].itertuples(index=False)]
    assert set(keys) == set(asked)
    assert dict(zip(keys, table["correct"], strict=True)) == right
    assert dict(zip(keys, table["count"], strict=True)) == asked


@settings(max_examples=12)
@given(corpora, st.integers(0, 5), st.randoms(use_true_random=False))
def test_parts_add_up_exactly_in_any_order(corpus, cut, rng):
    segments = segments_of(corpus)
    whole = show(Coreference(**RESAMPLING), [batch_of(segments)])
    shuffled = rng.sample(segments, len(segments))
    parts = [part for part in (shuffled[:cut], shuffled[cut:]) if part]
    studies = [show(Coreference(**RESAMPLING), [batch_of([one]) for one in part]) for part in parts]
    merged = Coreference(**RESAMPLING)
    merged.start(HeadShape((3, 3)))
    for study in studies:
        restored = Coreference(**RESAMPLING)
        restored.start(HeadShape((3, 3)))
        restored.restore(study.state())
        merged.merge(restored)
    for name, table in whole.frames().items():
        pd.testing.assert_frame_equal(table, merged.frames()[name], check_exact=True)


def test_baselines_and_the_best_head_stand_beside_each_other():
    one = segment([(0, 1, 0, 0), (1, 2, 1, 0), (2, 3, 2, 1), (6, 7, 6, 1), (7, 8, 7, 0)])
    tables = show(Coreference(**RESAMPLING), [batch_of([one])]).frames()
    rules = tables["coreference_baselines"].set_index(["baseline", "mention_type"])
    assert rules.loc[("nearest", "all"), ["correct", "count"]].tolist() == [
        2,
        3,
    ]  # not Anna -> he
    assert rules.loc[("head_match", "all"), "correct"] == 1  # Anna -> Anna
    assert rules.loc[("sieves", "all"), "correct"] == 3
    best = tables["coreference_best"].set_index(["mention_type", "candidates"])
    every = tables["coreference"].query("mention_type == 'all' and candidates == 'words'")
    assert best.loc[("all", "words"), "accuracy"] == every["accuracy"].max()
    assert ((best["low"] <= best["accuracy"]) & (best["accuracy"] <= best["high"])).all()
    assert best.filter(like="p_").apply(lambda column: column.between(0, 1)).all(axis=None)


def test_a_mention_that_attends_to_no_candidate_selects_none():
    one = segment([(0, 1, 0, 0), (4, 5, 4, 0)])
    study = Coreference(**RESAMPLING)
    study.start(HeadShape((1,)))
    batch = batch_of([one])
    weights = torch.zeros(1, 1, 10, 10)
    weights[..., 0] = 1  # everything goes to the first special token
    study.see(0, LayerMap(weights, batch, None))
    study.end_batch(batch)
    assert table_of(study)["correct"].tolist() == [0] * 2 * len(RULES)


def test_segments_without_mentions_are_a_programming_error():
    from random_maps import random_segments

    with pytest.raises(TypeError, match="not of the kind WordSegment"):
        show(Coreference(**RESAMPLING), [batch_of(random_segments([5]))])
