"""Resampled scores and mixes: against a loop over replicates, seeds and layers."""

import numpy as np
import pytest

from headatlas.commands.layers.replicates import measures_of, replicates
from headatlas.probes.span_scores import SpanCounts
from headatlas.statistics.resampling import poisson_weights


def test_replicates_equal_a_slow_loop():
    dice = np.random.default_rng(0)
    seeds, layers, texts, resamplings = 3, 4, 15, 20
    probes = seeds * layers
    found = dice.integers(0, 4, size=(probes, texts)).astype(float)
    said, given = found + dice.integers(0, 3, size=(probes, texts)), np.full(texts, 5.0)
    ids = [f"0.{number}.0" for number in range(texts)]
    counts = SpanCounts(ids, given, given, found, found, said, found)
    mixes = dice.dirichlet(np.ones(layers), size=seeds)
    cumulative, mixed = replicates(counts, mixes, resamplings, seed=1)
    weights = poisson_weights(ids, resamplings, 1)
    shares = np.random.default_rng([1, 4]).multinomial(seeds, [1 / 3] * 3, size=resamplings)
    for number in range(resamplings):
        assert shares[number].sum() == seeds
        for layer in range(layers):
            score = mix = 0.0
            for seed in range(seeds):
                probe = seed * layers + layer
                both = sum(weights[text, number] * (said[probe, text] + given[text]) for text in range(texts))
                right = sum(weights[text, number] * found[probe, text] for text in range(texts))
                score += shares[number, seed] / seeds * 2 * right / both
                mix += shares[number, seed] / seeds * mixes[seed, layer]
            assert cumulative[number, layer] == pytest.approx(score)
            assert mixed[number, layer] == pytest.approx(mix)
    measures = measures_of(cumulative, mixed)
    assert set(measures) == {"centre_of_gravity", "expected_layer", "expected_clipped"}
    assert all(len(values) == resamplings for values in measures.values())
