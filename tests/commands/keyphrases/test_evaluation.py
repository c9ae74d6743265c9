"""Precision, recall and F1 at k, against a plain count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.commands.keyphrases.evaluation import precision_recall_f1, score_table
from tests.commands.keyphrases.made_up import document

phrases = st.lists(st.sampled_from([(letter,) for letter in "abcdef"]), max_size=8)


@given(phrases, phrases, st.integers(1, 6))
def test_scores_are_those_of_a_plain_count(found, gold, k):
    precision, recall, f1 = precision_recall_f1(found, set(gold), k)
    seen = []
    for phrase in found:
        if phrase not in seen and len(seen) < k:
            seen.append(phrase)
    right = len([phrase for phrase in seen if phrase in gold])
    assert precision == (right / len(seen) if seen else 0)
    assert recall == (right / len(set(gold)) if gold else 0)
    assert f1 == pytest.approx(2 * right / (len(seen) + len(set(gold))) if right else 0)


def test_the_table_has_a_row_for_each_method_and_cut():
    documents = [document("x", "a", "b", name="0.0"), document("y", "c", name="0.1")]
    rankings = {"heads": [[("a",), ("z",)], [("c",)]], "position": [[], []]}
    table = score_table(rankings, documents, seed=0, resamplings=200).set_index(["method", "k"])
    assert len(table) == 6
    row = table.loc[("heads", 5)]
    assert (row["precision"], row["recall"], row["f1"]) == pytest.approx((0.75, 0.75, 0.75))
    assert row["low"] <= row["f1"] <= row["high"]
    assert (table.loc["position"][["precision", "recall", "f1"]] == 0).all(axis=None)
