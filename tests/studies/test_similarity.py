"""Distances of all pairs of heads against a loop over segments, and what every study promises."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.errors import ModelError
from headatlas.models.stacks import HeadShape
from headatlas.results.tables import TABLES
from headatlas.statistics.resampling import poisson_weights
from headatlas.studies import kept_rows
from headatlas.studies.similarity import SIMILARITY_SMOOTHING, Similarity
from headatlas.studies.study import LayerMap
from random_maps import batch_of, random_maps, random_segments, segment, show, table_of

SHAPE = HeadShape((3, 3))
lengths_of_several = st.lists(st.integers(1, 9), min_size=2, max_size=5)


def see(study, batch, maps):
    for layer, weights in enumerate(maps):
        study.see(layer, LayerMap(weights, batch, None))
    study.end_batch(batch)
    return study


def started(smoothing=0.0, **options):
    study = Similarity(**options)
    study._smoothing = smoothing
    study.start(SHAPE)
    return study


def divergence(p, q):
    p, q = p / p.sum(), q / q.sum()
    m = (p + q) / 2
    return sum(
        (a * math.log(a / c) if a else 0) / 2 + (b * math.log(b / c) if b else 0) / 2
        for a, b, c in zip(p, q, m, strict=True)
    )


def by_hand(batch, maps, a, b, per_token, smoothing):
    """The distance of heads a and b, each (layer, head), and the segments in it."""
    values = []
    for row, one in enumerate(batch.segments):
        n = len(one)
        p, q = (maps[layer][row, head, :n, :n].double().numpy() for layer, head in (a, b))
        p, q = ((1 - smoothing) * end + smoothing / n for end in (p, q))
        counted = [divergence(p[i], q[i]) for i in range(n) if p[i].sum() > 0 and q[i].sum() > 0]
        if counted:
            values.append(sum(counted) / len(counted) * (1 if per_token else n))
    return (sum(values) / len(values) if values else math.nan), len(values)


@pytest.mark.parametrize("smoothing", [0.0, SIMILARITY_SMOOTHING])
def test_the_table_equals_the_loop(smoothing):
    batch = batch_of(random_segments([7, 3, 5, 1]))
    maps = random_maps(batch, layers=2)
    for weights in maps:
        weights[0, 1, 2] = 0  # all mass of a row went to a sink
        weights[1, 2] *= 0.25
    maps[1][3, 0] = 0  # one segment with nothing from this head
    table = table_of(see(started(smoothing=smoothing), batch, maps))
    assert len(table) == 15
    for row in table.itertuples():
        a, b = (row.layer_a - 1, row.head_a - 1), (row.layer_b - 1, row.head_b - 1)
        assert a < b
        for found, per_token in ((row.value, False), (row.per_token, True)):
            value, count = by_hand(batch, maps, a, b, per_token, smoothing)
            assert found == pytest.approx(value, rel=1e-5, abs=1e-7)
            assert row.count == count
    if not smoothing:
        assert set(table["count"]) == {3, 4}


def test_float64_maps_are_compared_in_float64():
    batch = batch_of(random_segments([6, 4]))
    maps = [weights.double() for weights in random_maps(batch, layers=2)]
    for row in table_of(see(started(), batch, maps)).itertuples():
        a, b = (row.layer_a - 1, row.head_a - 1), (row.layer_b - 1, row.head_b - 1)
        assert row.value == pytest.approx(by_hand(batch, maps, a, b, False, 0.0)[0], rel=1e-12)


@settings(max_examples=25)
@given(lengths=lengths_of_several, seed=st.integers(0, 50))
def test_distances_are_symmetric_bounded_and_a_metric(lengths, seed):
    distances = show(Similarity(), [batch_of(random_segments(lengths, seed))]).distances(per_token=True)
    assert (distances == distances.T).all()
    assert (distances.diagonal() == 0).all()
    assert (distances >= 0).all()
    assert (distances <= math.log(2) * (1 + 1e-6)).all()
    root = np.sqrt(distances)
    assert (root[:, :, None] <= root[:, None, :] + root[None] + 1e-6).all()


def test_the_same_maps_have_no_distance():
    batch = batch_of(random_segments([6, 4]))
    maps = random_maps(batch)
    table = table_of(see(started(), batch, [*maps, *maps])).set_index(["layer_a", "head_a", "layer_b", "head_b"])
    assert all(table.loc[(1, head, 2, head), "value"] == 0 for head in (1, 2, 3))
    assert table["value"].max() > 0.1


def test_one_state_serves_sum_and_mean():
    batch = batch_of([segment([1, 0, 3, 2]), segment([1, 0, 0, 2], "t")])
    study = show(Similarity(), [batch])
    np.testing.assert_allclose(study.distances(), 4 * study.distances(per_token=True), rtol=1e-12)


def test_layers_may_have_different_numbers_of_heads():
    study = Similarity()
    study.start(HeadShape((3, 1)))
    batch = batch_of(random_segments([6]))
    see(study, batch, [random_maps(batch, heads=3)[0], random_maps(batch, heads=1, seed=1)[0]])
    pairs = table_of(study)[["layer_a", "head_a", "layer_b", "head_b"]]
    expected = [(1, 1, 1, 2), (1, 1, 1, 3), (1, 1, 2, 1), (1, 2, 1, 3), (1, 2, 2, 1), (1, 3, 2, 1)]
    assert list(pairs.itertuples(index=False, name=None)) == expected


def test_not_a_number_names_layer_and_head_and_leaves_the_sums_alone():
    study, batch = started(), batch_of([segment([1, 0, 3, 2])])
    maps = random_maps(batch, 2)
    maps[1][0, 2] = torch.nan
    with pytest.raises(ModelError, match=r"head 2-3 .*not finite"):
        see(study, batch, maps)
    assert all((array == 0).all() for array in study.state().values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_maps_of_inference_mode_are_taken(dtype):
    batch = batch_of(random_segments([5, 4]))
    with torch.inference_mode():
        maps = [weights.to(dtype) + 0 for weights in random_maps(batch, layers=2)]
    pd.testing.assert_frame_equal(
        table_of(see(started(), batch, maps)), table_of(show(Similarity(), [batch])), rtol=1e-5
    )


def test_every_table_is_as_its_schema_says():
    tables = show(Similarity(), [batch_of(random_segments([7, 5]))]).frames()
    assert list(tables) == ["head_distances", "head_map", "layer_distances", "similarity"]
    for name, table in tables.items():
        assert list(TABLES[name].conform(table).columns) == TABLES[name].names
        assert list(table.columns) == TABLES[name].names
    pd.testing.assert_frame_equal(tables["head_distances"].astype({"count": "int64"}), tables["head_distances"])


def test_replicates_are_means_of_layers_over_segments_drawn_anew():
    batch = batch_of(random_segments([7, 3, 5]))
    maps = random_maps(batch, layers=2)
    study = see(started(seed=1, replicates=30), batch, maps)
    weights = poisson_weights([one.id for one in batch.segments], 30, 1)
    pairs = {(0, 0): [], (0, 1): [], (1, 1): []}
    heads = [(layer, head) for layer in range(2) for head in range(3)]
    for place, one in enumerate(batch.segments):
        alone = batch_of([one])
        cut = [weights[place : place + 1, :, : len(one), : len(one)] for weights in maps]
        for layers in pairs:
            found = [
                by_hand(alone, cut, a, b, False, 0.0)[0]
                for number, a in enumerate(heads)
                for b in heads[number + 1 :]
                if (a[0], b[0]) == layers
            ]
            pairs[layers].append(sum(found) / len(found))
    drawn = study.replicates()["layer_distances"]
    for replicate in range(30):
        if not weights[:, replicate].any():
            assert np.isnan(drawn[replicate]).all()
            continue
        expected = [np.average(values, weights=weights[:, replicate]) for values in pairs.values()]
        np.testing.assert_allclose(drawn[replicate], expected, rtol=1e-5)


def test_segments_too_long_for_all_rows_are_compared_on_some(monkeypatch):
    batch = batch_of(random_segments([8, 4]))
    maps = random_maps(batch, layers=2)
    monkeypatch.setattr(kept_rows, "MOST_KEPT", 4 * 6 * 16)  # the maps of four tokens
    study = see(started(), batch, maps)
    measures = study.frames()["similarity"].set_index("measure")["value"]
    assert measures["share_of_rows"] == (2 + 4) / 12
    monkeypatch.undo()
    rows = torch.tensor([2, 6])
    expected = []
    for n, place, chosen in ((8, 0, rows), (4, 1, torch.arange(4))):
        p, q = (maps[layer][place, head, chosen][:, :n].double().numpy() for layer, head in ((0, 0), (1, 2)))
        expected.append(n * np.mean([divergence(a, b) for a, b in zip(p, q, strict=True)]))
    found = table_of(study).query("layer_a == 1 and head_a == 1 and layer_b == 2 and head_b == 3")["value"].item()
    assert found == pytest.approx(np.mean(expected), rel=1e-5)


def test_batches_are_small_enough_for_what_is_kept():
    study = started()
    assert study.batch_pairs() == kept_rows.MOST_KEPT // (4 * 6)
