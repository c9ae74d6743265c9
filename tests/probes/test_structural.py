"""Tree distances, losses and scores of the structural probe against walks through the tree."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.structural import (
    StructuralProbe,
    right_edges,
    right_root,
    spearman,
    structural_scores,
    tree_depths,
    tree_distances,
)
from headatlas.probes.training import TrainingSettings, fit
from tests.probes.random_stores import data, random_store, random_tree


def walk(heads, word):
    path = [word]
    while heads[path[-1]] != ROOT:
        path.append(int(heads[path[-1]]))
    return path


def distance(heads, i, j):
    up, other = walk(heads, i), walk(heads, j)
    return min(a + other.index(node) for a, node in enumerate(up) if node in other)


@settings(max_examples=40)
@given(st.integers(1, 12), st.integers(0, 10**6))
def test_distances_and_depths_are_those_of_walks(size, seed):
    heads = random_tree(size, np.random.default_rng(seed))
    padded = torch.full((1, size + 2), -100)
    padded[0, :size] = torch.from_numpy(np.where(heads == ROOT, size + 2, heads))
    found, depths = tree_distances(padded)[0], tree_depths(padded)[0]
    for i in range(size):
        assert depths[i] == len(walk(heads, i)) - 1
        for j in range(size):
            assert found[i, j] == distance(heads, i, j)


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    sizes = [5, 7, 2, 9, 6, 1] * 6
    return data(random_store(tmp_path_factory.mktemp("store"), sizes, states=8))


def test_losses_are_mean_differences(sentences):
    torch.manual_seed(0)
    probe = StructuralProbe(3, 8, 4)
    batch = sentences.batch([0, 3, 5], "states")
    losses, counts = probe.losses(batch)
    maps = probe.maps.detach().double().numpy()
    expected = np.zeros(6)
    for place in (0, 3, 5):
        heads, size = sentences.heads[place], int(sentences.sizes[place])
        states = sentences.store[place].states.astype(float)
        for layer in range(3):
            for i in range(size):
                for j in range(size):
                    gap = (states[layer, i] - states[layer, j]) @ maps[layer]
                    expected[layer] += abs(gap @ gap - distance(heads, i, j)) / size**2
                mapped = states[layer, i] @ maps[3 + layer]
                expected[3 + layer] += abs(mapped @ mapped - len(walk(heads, i)) + 1) / size
    np.testing.assert_allclose(losses.detach().numpy(), expected, rtol=1e-4)
    assert counts.tolist() == [3] * 6


def test_states_that_hold_the_tree_give_it_back(tmp_path, monkeypatch):
    """States in which each edge has a direction of its own make squared distances tree distances."""
    rng = np.random.default_rng(2)
    trees = [random_tree(size, rng) for size in [8] * 60]
    store = random_store(tmp_path, [8] * 60, states=8, trees=trees)
    held = data(store)
    for place, heads in enumerate(trees):
        above = np.zeros((8, 8), np.float32)
        for word in range(8):
            above[word, walk(heads, word)[:-1]] = 1
        held._cache["states", place] = (
            torch.from_numpy(np.stack([rng.normal(size=(8, 8)).astype(np.float32), above, above])),
        )
    monkeypatch.setattr(StructuralProbe, "learning_rate", 0.02)
    quick = TrainingSettings(epochs=15, patience=5, batch_size=2)
    probe, _ = fit(lambda: StructuralProbe(3, 8, 8), held, range(50), range(50, 55), quick, 0)
    found = structural_scores(probe, held, range(55, 60), ())
    shares = found.edges_right.sum(0) / found.edges.sum()
    assert shares[1] > 0.9 > 0.6 > shares[0]
    assert found.root_right[:, 1].mean() == 1
    assert found.distance_spearman[1] > 0.9 > found.distance_spearman[0]
    assert found.depth_spearman[1] > 0.85


def test_edges_leave_punctuation_out():
    heads = np.array([1, ROOT, 1, 1])
    words = np.array([True, True, True, False])
    distances = np.array([[[0, 1, 9, 1], [1, 0, 8, 1], [9, 8, 0, 1], [1, 1, 1, 0]]], float)
    right, count = right_edges(distances, heads, words)
    assert (right.tolist(), count) == ([2], 2)
    none, count = right_edges(distances, heads, np.array([False, False, False, True]))
    assert (none.tolist(), count) == ([0], 0)
    assert right_edges(np.zeros((1, 2, 2)), np.array([ROOT, 0]), np.array([True, True]))[0].tolist() == [1]


def test_the_root_is_the_shallowest_word():
    heads, words = np.array([1, ROOT, 1]), np.array([True, True, False])
    depths = np.array([[2.0, 1.0, 0.5], [0.1, 1.0, 0.5]])
    assert right_root(depths, heads, words).tolist() == [True, False]


def test_rank_correlation_is_scipys():
    rng = np.random.default_rng(0)
    predicted, true = rng.normal(size=(3, 4, 7)), rng.integers(0, 4, size=(4, 7)).astype(float)
    found = spearman(predicted, true)
    for layer in range(3):
        for row in range(4):
            assert found[layer, row] == pytest.approx(spearmanr(predicted[layer, row], true[row]).statistic)
    assert np.isnan(spearman(np.ones(4), np.arange(4.0)))
