"""Batches of a store: every sentence once, padded with nothing, the same with and without room to keep them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes import batches as module
from headatlas.probes import probe
from headatlas.probes.batches import IGNORED
from tests.probes.random_stores import data, random_store

SIZES = [3, 7, 1, 4, 4, 9, 2, 6]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return random_store(tmp_path_factory.mktemp("store"), SIZES, states=5)


@pytest.mark.parametrize("memory", [0, 600, 1 << 20])
def test_a_batch_is_the_store_padded(store, memory):
    sentences = data(store, memory)
    for _ in range(2):  # from disk, then from memory where there is room
        batch = sentences.batch([5, 0, 2], "maps")
        assert batch.maps.shape == (3, 9, 9, 3)
        for row, place in enumerate([5, 0, 2]):
            size, true = SIZES[place], store[place]
            np.testing.assert_array_equal(batch.maps[row, :size, :size].permute(2, 0, 1), true.maps)
            assert batch.maps[row, size:].abs().sum() == batch.maps[row, :, size:].abs().sum() == 0
            np.testing.assert_array_equal(batch.special[row, :size, :2].permute(2, 0, 1), true.to_special)
            np.testing.assert_array_equal(batch.special[row, :size, 2:].permute(2, 1, 0), true.from_special)
            heads = [9 if head == ROOT else head for head in true.heads.tolist()]
            assert batch.targets[row].tolist() == heads + [IGNORED] * (9 - size)
        states = sentences.batch([5, 0], "states").states
        np.testing.assert_array_equal(states[1, :, :3], store[0].states)
        assert states[1, :, 3:].abs().sum() == 0


def test_memory_is_kept_within_its_bound(store):
    sentences = data(store, 600)
    for place in range(len(SIZES)):
        sentences.batch([place], "maps")
    kept = sum(part.numel() * part.element_size() for parts in sentences._cache.values() for part in parts)
    assert 0 < kept <= 600


def test_a_plan_has_every_sentence_once(store, monkeypatch):
    monkeypatch.setattr(probe, "WINDOW_BYTES", 3000)
    sentences = data(store)
    assert sentences._window.max() > 0
    places = [0, 1, 3, 4, 5, 7]
    plan = sentences.plan(places, "maps", 2, np.random.default_rng(0))
    assert sorted(place for batch in plan for place in batch) == places
    assert max(map(len, plan)) <= 2
    order = [int(sentences._window[batch[0]]) for batch in plan]
    assert all(len({int(sentences._window[place]) for place in batch}) == 1 for batch in plan)
    changes = sum(one != other for one, other in pairwise(order))
    assert changes == len(set(order)) - 1  # a window is read once
    other = sentences.plan(places, "maps", 2, np.random.default_rng(1))
    assert plan != other
    assert plan == sentences.plan(places, "maps", 2, np.random.default_rng(0))


def test_long_sentences_make_smaller_batches(store, monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 3 * 9 * 9)
    plan = data(store).plan(range(8), "maps", 8)
    assert all(len(batch) * max(SIZES[place] for place in batch) ** 2 * 3 <= 3 * 9 * 9 for batch in plan)
    assert torch.is_tensor(data(store).batch(plan[0], "words").words)
