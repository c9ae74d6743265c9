"""The best tree against trying every tree."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.corpora.treebanks.sentence import ROOT, tree_defect
from headatlas.probes.attachment import best_tree


def every_tree(size):
    for heads in product([ROOT, *range(size)], repeat=size):
        if heads.count(ROOT) == 1 and not tree_defect(list(heads)):
            yield heads


TREES = {size: list(every_tree(size)) for size in (1, 2, 3, 4, 5)}


def total(scores, heads):
    return sum(scores[j, len(heads) if head == ROOT else head] for j, head in enumerate(heads))


@settings(max_examples=150)
@given(st.integers(1, 5), st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 1000.0]))
def test_no_tree_is_better(size, seed, scale):
    scores = scale * np.random.default_rng(seed).normal(size=(size, size + 1))
    found = best_tree(scores)
    assert tuple(found.tolist()) in TREES[size]
    assert total(scores, found.tolist()) == pytest.approx(max(total(scores, tree) for tree in TREES[size]))


@settings(max_examples=30)
@given(st.integers(6, 60), st.integers(0, 10**6))
def test_large_trees_are_trees_and_keep_what_has_no_cycle(size, seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, size=(size, size + 1)).astype(float)  # many equals
    found = best_tree(scores).tolist()
    assert not tree_defect(found)
    chain = np.full((size, size + 1), -1.0)
    chain[np.arange(1, size), np.arange(size - 1)] = 1
    chain[0, size] = 1
    assert best_tree(chain).tolist() == list(range(-1, size - 1))


def test_a_worse_root_is_taken_over_two():
    scores = np.array([[-np.inf, -50.0, 0.0], [-60.0, -np.inf, 0.0]])
    assert best_tree(scores).tolist() == [1, ROOT]
