"""The other methods, against what can be worked out by hand."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.commands.keyphrases.candidates import between_stop_words, find_candidates
from headatlas.commands.keyphrases.evaluation import by_position, by_text_rank, by_tf_idf, by_yake, page_rank, ranked
from tests.commands.keyphrases.made_up import document


def candidates_of(one):
    return find_candidates(one.words, between_stop_words)


def test_position_is_the_order_of_the_text():
    one = document("graph kernels of trees and graph nodes")
    assert by_position(one, candidates_of(one)[::-1]) == [("graph", "kernel"), ("tree",), ("graph", "node")]


def test_tf_idf_prefers_what_is_frequent_here_and_rare_elsewhere():
    documents = [document("kernels , kernels of trees", name="a"), document("trees in trees", name="b")]
    rank = by_tf_idf(documents)
    assert rank(documents[0], candidates_of(documents[0])) == [("kernel",), ("tree",)]
    weight = 2 * (math.log(3 / 2) + 1)  # scikit-learn's smoothed idf, twice in the text
    assert weight > 1 * (math.log(3 / 3) + 1)


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
    one = document("graph kernels and graph nodes and graph edges and trees")
    found = by_text_rank(one, candidates_of(one))
    assert found[-1] == ("tree",)
    assert by_text_rank(document("the of"), []) == []


def test_equal_scores_go_by_the_place():
    one = document("trees of kernels")
    assert ranked(candidates_of(one), [1.0, 1.0]) == [("tree",), ("kernel",)]


def test_yake_ranks_phrases_of_its_own():
    pytest.importorskip("yake")
    one = document("Graph kernels measure similarity. Graph kernels are used in machine learning of graphs.")
    found = by_yake()(one, [])
    assert ("graph", "kernel") in found
    assert len(found) == len(set(found))
