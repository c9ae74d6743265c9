"""Distances of heads across two models against their definition, however the segments are batched or merged."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from headatlas.commands.compare.matching import Crossing, cross_models, mean_known
from headatlas.encoding.batches import make_batch
from headatlas.encoding.kinds import kind_table
from headatlas.errors import ModelError
from headatlas.models.loading import load_model
from headatlas.models.stacks import HeadShape


@pytest.fixture(scope="module")
def models(tiny_folder, save_tiny):
    """Two models with the same tokenizer, one a layer deeper."""
    folders = tiny_folder("bert"), save_tiny("bert", seed=3, num_hidden_layers=3)
    return [(load_model(str(folder), device="cpu"), "encoder") for folder in folders]


def maps_of(model, segment):
    """Every head's map of one segment alone, [H, n, n]."""
    found = {}
    batch = make_batch([segment], kind_table(model.tokenizer), model.pad_id)
    model.observe(batch, lambda layer, weights, mask: found.update({layer: weights[0].double()}))
    return torch.cat([found[layer] for layer in sorted(found)]).numpy()


def divergence(p, q):
    def entropy(row):
        return -sum(x * math.log(x) for x in row if x > 0)

    return entropy([(x + y) / 2 for x, y in zip(p, q, strict=True)]) - (entropy(p) + entropy(q)) / 2


def test_distances_are_those_of_the_definition(models, segments_for):
    segments = segments_for(models[0][0].tokenizer)
    crossing = cross_models(*models, segments, batch_tokens=64)
    assert crossing.across.shape == (8, 12)
    assert (crossing.counts == len(segments)).all()
    maps = [[maps_of(model, segment) for model, _ in models] for segment in segments]
    for a, b in ((0, 0), (3, 11), (7, 5)):
        means = [np.mean([divergence(p, q) for p, q in zip(one[a], two[b], strict=True)]) for one, two in maps]
        assert crossing.across[a, b] == pytest.approx(np.mean(means), rel=1e-4)
    within = [
        np.mean([np.mean([divergence(p, q) for p, q in zip(one[a], one[b], strict=True)]) for one, _ in maps])
        for a in range(8)
        for b in range(a + 1, 8)
    ]
    assert crossing.within()[0] == pytest.approx(np.mean(within), rel=1e-4)


def test_batches_change_nothing(models, segments_for):
    segments = segments_for(models[0][0].tokenizer)
    whole = cross_models(*models, segments, batch_tokens=4096)
    alone = cross_models(*models, segments, batch_tokens=1)
    np.testing.assert_allclose(alone.across, whole.across, rtol=1e-4)
    np.testing.assert_array_equal(alone.counts, whole.counts)


def test_a_model_is_no_distance_from_itself(models, segments_for):
    crossing = cross_models(models[0], models[0], segments_for(models[0][0].tokenizer), batch_tokens=64)
    assert np.diag(crossing.across).max() < 1e-6
    np.testing.assert_allclose(crossing.across, crossing.across.T, atol=1e-6)


def test_a_head_that_attends_to_nothing_has_no_distance():
    rows = torch.full((3, 4, 3), 1 / 3)
    rows[:, 1] = 0
    crossing = Crossing(HeadShape((2,)), HeadShape((2,)))
    crossing.add(rows)
    assert np.isnan(crossing.across[1]).all()
    assert crossing.counts.tolist() == [[1, 1], [0, 0]]
    assert math.isnan(crossing.within()[0])
    assert crossing.within()[1] == pytest.approx(0, abs=1e-6)
    assert math.isnan(mean_known(np.array([np.nan])))


def test_what_is_not_finite_is_refused():
    rows = torch.full((3, 4, 3), 1 / 3)
    rows[0, 3, 0] = float("nan")
    with pytest.raises(ModelError, match=r"head 2-1 .*not finite"):
        Crossing(HeadShape((2,)), HeadShape((1, 1))).add(rows)
