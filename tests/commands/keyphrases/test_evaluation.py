"""Precision, recall and F1 at k, macro and micro, against a plain count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.commands.keyphrases.evaluation import CUTS, count_right, mean_f1, precision_recall_f1, score_tables
from tests.commands.keyphrases.made_up import document

phrases = st.lists(st.sampled_from([(letter,) for letter in "abcdef"]), max_size=8)


@given(phrases, phrases, st.integers(1, 6))
def test_scores_are_those_of_a_plain_count(found, gold, k):
    precision, recall, f1 = precision_recall_f1(np.array(count_right(found, set(gold), k)))
    seen = []
    for phrase in found:
        if phrase not in seen and len(seen) < k:
            seen.append(phrase)
    right = len([phrase for phrase in seen if phrase in gold])
    assert precision == (right / len(seen) if seen else 0)
    assert recall == (right / len(set(gold)) if gold else 0)
    assert f1 == pytest.approx(2 * right / (len(seen) + len(set(gold))) if right else 0)


DOCUMENTS = [document("x", "a", "b", name="0.0"), document("y", "c", "d", "e", "f", name="0.1")]
RANKINGS = {
    "heads": [[[("a",), ("z",)], [("c",)]]],
    "random_heads": [[[("a",)], [("c",)]], [[("z",)], [("z",)]]],
    "position": [[[], []]],
}


def tables():
    return score_tables({"exclude": RANKINGS}, DOCUMENTS, seed=0, resamplings=200)


def test_macro_is_the_mean_of_documents_and_micro_that_of_counts():
    table = tables()["keyphrase_scores"].set_index(["method", "k"])
    assert len(table) == len(RANKINGS) * len(CUTS)
    row = table.loc[("heads", 5)]
    assert row["precision"] == pytest.approx((1 / 2 + 1) / 2)
    assert row["recall"] == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert row["f1"] == pytest.approx((2 * 1 / 4 + 2 * 1 / 5) / 2)
    assert row["micro_f1"] == pytest.approx(2 * 2 / (3 + 6))
    for value, low, high in (("f1", "low", "high"), ("micro_f1", "micro_low", "micro_high")):
        assert row[low] <= row[value] <= row[high]
    assert (table.loc["position"][["precision", "recall", "f1", "micro_f1"]] == 0).all(axis=None)
    assert np.isnan([row["lowest"], row["highest"]]).all()


def test_variants_are_averaged_and_their_spread_is_given():
    row = tables()["keyphrase_scores"].set_index(["method", "k"]).loc[("random_heads", 10)]
    of_first = (2 * 1 / 3 + 2 * 1 / 5) / 2
    assert (row["f1"], row["lowest"], row["highest"]) == pytest.approx((of_first / 2, 0, of_first))
    assert row["f1"] == pytest.approx(mean_f1(RANKINGS["random_heads"], DOCUMENTS))
    assert row["micro_f1"] == pytest.approx((2 * 2 / (2 + 6)) / 2)


def test_leads_are_differences_of_scores():
    made = tables()
    f1 = made["keyphrase_scores"].set_index(["method", "k"])["f1"]
    leads = made["keyphrase_leads"]
    assert len(leads) == 2 * len(CUTS)
    for row in leads.to_dict("records"):
        assert row["lead"] == pytest.approx(f1["heads", row["k"]] - f1[row["method"], row["k"]])
        assert row["p_value"] == 1, "two documents are too few to test"
