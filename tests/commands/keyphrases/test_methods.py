"""The methods that are compared, against what can be worked out by hand."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.commands.keyphrases.candidates import between_stop_words, find_candidates, words_of_reports
from headatlas.commands.keyphrases.methods import (
    RANDOM_SETS,
    Texts,
    page_rank,
    random_sets,
    rank_all,
    text_rank_weights,
    tf_idf_weights,
    yake_rankings,
)
from tests.commands.keyphrases.made_up import document


def texts_of(*documents, heads=4):
    """The documents, with made-up attention."""
    rng = np.random.default_rng(0)
    candidates = [find_candidates(one.words, between_stop_words) for one in documents]
    received = [rng.random((len(one.words), heads)).astype(np.float32) for one in documents]
    uniform = [np.arange(1.0, 1 + len(one.words)) for one in documents]
    return Texts(documents, candidates, received, uniform)


def ranking(texts, method, **scoring):
    found, _ = rank_all(texts, [1, 2], scoring, "exclude", 0)
    return found[method][0]


def test_position_is_the_order_of_the_text_and_length_the_number_of_words():
    texts = texts_of(document("trees of graph kernels and big graph nodes , paths"))
    assert ranking(texts, "position") == [[("tree",), ("graph", "kernel"), ("big", "graph", "node"), ("path",)]]
    assert ranking(texts, "length") == [[("big", "graph", "node"), ("graph", "kernel"), ("tree",), ("path",)]]


def test_uniform_goes_by_the_tokens_of_words_and_by_the_mean_if_training_says_so():
    texts = texts_of(document("graph kernels and trees"))
    assert ranking(texts, "uniform") == [[("tree",), ("graph", "kernel")]]  # 4 against 1 + 2
    assert ranking(texts_of(document("alpha trees of paths")), "uniform", uniform="mean") == [
        [("path",), ("alpha", "tree")]
    ]


def test_random_sets_have_as_many_different_heads_and_depend_on_the_seed():
    sets = random_sets(12, 5, 0)
    assert len(sets) == RANDOM_SETS
    assert all(len(set(one)) == 5 and set(one) <= set(range(12)) for one in sets)
    assert len({tuple(sorted(one)) for one in sets}) > 1
    assert sets == random_sets(12, 5, 0) != random_sets(12, 5, 1)


def test_heads_rank_by_their_mean_and_all_heads_by_that_of_all():
    texts = texts_of(document("graph kernels and trees of paths , nodes"))
    found, _ = rank_all(texts, [1, 2], {}, "exclude", 0)
    for method, heads in (("heads", [1, 2]), ("all_heads", [0, 1, 2, 3])):
        scores = {
            candidate.stems: sum(
                texts.received[0][place, heads].astype(float).mean() for place in range(*candidate.places[0])
            )
            for candidate in texts.candidates[0]
        }
        assert found[method] == [[sorted(scores, key=lambda stems: -scores[stems])]]
    assert len(found["random_heads"]) == RANDOM_SETS


def test_tf_idf_prefers_what_is_frequent_here_and_rare_elsewhere():
    documents = [document("kernels , kernels of trees", name="a"), document("trees in trees", name="b")]
    assert ranking(texts_of(*documents), "tf_idf")[0] == [("kernel",), ("tree",)]
    weights = tf_idf_weights(documents)[0]
    assert weights[0] == pytest.approx(2 * (math.log(3 / 2) + 1))  # scikit-learn's smoothed idf, twice in the text
    assert weights[-1] == pytest.approx(1)


@settings(max_examples=25)
@given(st.integers(1, 6), st.integers(0, 999))
def test_page_rank_is_networkx(size, seed):
    links = np.random.default_rng(seed).integers(0, 3, size=(size, size)).astype(float)
    links = np.triu(links, 1)
    links += links.T
    graph = networkx.from_numpy_array(links)
    expected = networkx.pagerank(graph, alpha=0.85, tol=1e-12, max_iter=500)
    np.testing.assert_allclose(page_rank(links), [expected[node] for node in range(size)], atol=1e-9)


def test_text_rank_prefers_the_word_with_most_neighbours():
    texts = texts_of(document("graph kernels and graph nodes and graph edges and trees"))
    assert ranking(texts, "text_rank")[0][-1] == ("tree",)
    assert text_rank_weights(document("the of"), []).tolist() == [0, 0]


def test_yake_ranks_phrases_of_its_own_and_can_be_given_the_report_words():
    pytest.importorskip("yake")
    one = document("Graph kernels measure similarity. Results of graph kernels are used in machine learning of graphs.")
    (kept,), (excluded,) = (yake_rankings([one], setting) for setting in ("keep", "exclude"))
    assert ("graph", "kernel") in kept
    assert len(kept) == len(set(kept))
    assert "results" in words_of_reports()
    assert ("result",) in kept
    assert ("result",) not in excluded
