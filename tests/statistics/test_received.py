"""Received attention and what is made of it, against loops anyone can read."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from headatlas.statistics.received import (
    add_received,
    add_received_torch,
    key_measures,
    mean_received,
    no_received,
    received,
)
from random_maps import batch_of, in_tiles, lengths_of_segments, random_maps, random_segments, tile_shapes

KERNELS = {"numba": add_received, "torch": add_received_torch}


def by_hand(weights, n, text, causal):
    """The four forms for one map, [4, n]."""
    found = []
    for rows in ([True] * n, text):
        for pool in (
            lambda column: sum(column) / len(column) if column else 0.0,
            lambda column: max(column, default=0.0),
        ):
            found.append([])
            for j in range(n):
                column = [float(weights[i, j]) for i in range(n) if rows[i] and (i >= j or not causal)]
                found[-1].append(pool(column) if column else 0.0)
    return found


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("causal", [True, False])
@settings(max_examples=20)
@given(lengths=lengths_of_segments, seed=st.integers(0, 99), shape=tile_shapes)
def test_received_attention_is_that_of_a_loop(kernel, causal, lengths, seed, shape):
    batch = batch_of(random_segments(lengths, seed))
    (weights,) = random_maps(batch, seed=seed)
    if causal:
        weights = weights.tril()
    text = batch.mask & ((batch.kinds == 0) | (batch.kinds == 3))
    sums = no_received(batch.mask, weights.shape[1], weights.device)
    for tile in in_tiles(weights, *shape):
        KERNELS[kernel](sums, tile, batch.mask, text)
    found = mean_received(sums, batch.mask, text, causal)
    torch.testing.assert_close(found, received(weights, batch.mask, text, causal))
    for row, n in enumerate(batch.lengths.tolist()):
        for head in range(weights.shape[1]):
            expected = by_hand(weights[row, head], n, text[row].tolist(), causal)
            np.testing.assert_allclose(found[row, head, :, :n], expected, atol=1e-6)
        assert (found[row, :, :, n:] == 0).all()


def test_half_precision_and_double_are_taken_too():
    batch = batch_of(random_segments([5, 8]))
    (weights,) = random_maps(batch)
    text = batch.mask & (batch.kinds == 0)
    whole = received(weights.double(), batch.mask, text, False)
    assert whole.dtype == torch.float64
    np.testing.assert_allclose(received(weights.bfloat16(), batch.mask, text, False), whole, atol=5e-3)


tokens = st.lists(st.tuples(st.sampled_from("kox"), st.integers(0, 4)), min_size=1, max_size=12).filter(
    lambda made: {"k", "o"} <= {kind for kind, _ in made}
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["numba", "torch"])
@settings(max_examples=40)
@given(made=tokens)
def test_measures_are_those_of_scikit_learn_and_of_loops(dtype, made):
    scores = torch.tensor([[[[score / 4 for _, score in made]]]], dtype=dtype)
    key, other = (torch.tensor([[kind == name for kind, _ in made]]) for name in "ko")
    relative, precision, surprise = (one.item() for one in key_measures(scores, key, other))
    of_key, of_other = ([score / 4 for kind, score in made if kind == name] for name in "ko")
    assert relative == pytest.approx(sum(of_key) / len(of_key) - sum(of_other) / len(of_other), abs=1e-6)
    ranked = [(kind == "k", score) for kind, score in made if kind != "x"]
    assert precision == pytest.approx(average_precision_score(*zip(*ranked, strict=True)), abs=1e-6)
    total = sum(of_key) + sum(of_other)
    expected = sum(-math.log(max(score / total if total else 0.0, 1e-9)) for score in of_key) / len(of_key)
    assert surprise == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_measures_of_many_rows_are_the_same_in_both_kernels():
    rng = torch.Generator().manual_seed(0)
    scores = torch.rand(3, 4, 4, 20, generator=rng)
    key, other = (torch.rand(3, 20, generator=rng) < share for share in (0.3, 0.6))
    other &= ~key
    both = (key_measures(given, key, other).float() for given in (scores, scores.double()))
    np.testing.assert_allclose(*both, atol=1e-5)
