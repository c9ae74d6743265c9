"""What every study of segment means promises besides the contract of all studies: the mean of means, its intervals."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headatlas.errors import ModelError
from headatlas.models.stacks import HeadShape
from headatlas.statistics.resampling import poisson_weights
from headatlas.studies.segment_means import SegmentMeans
from headatlas.studies.study import LayerMap
from intervals import expected_interval, units_like
from random_maps import TEXT_STUDIES, batch_of, random_maps, random_segments, segment, show, table_of

NAMES = sorted(name for name, study in TEXT_STUDIES.items() if issubclass(study, SegmentMeans))


def study_of(name: str) -> SegmentMeans:
    return TEXT_STUDIES[name](replicates=20)


@pytest.mark.parametrize("name", NAMES)
def test_long_and_short_segments_weigh_the_same(name):
    """The paper's mean: over the tokens of a segment, then over segments."""
    segments = [segment([1, 0, 3, 0, 0, 3, 0, 2], "0.0.0"), segment([1, 3, 2], "0.1.0")]
    apart = [table_of(show(study_of(name), [batch_of([one])])) for one in segments]
    both = table_of(show(study_of(name), [batch_of(segments)]))
    column = "nats" if name == "entropy" else "value"
    expected = (apart[0][column] + apart[1][column]) / 2
    counted_twice = both["count"] == 2
    assert counted_twice.any()
    np.testing.assert_allclose(both[column][counted_twice], expected[counted_twice], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_layers_may_have_different_numbers_of_heads(name):
    study = study_of(name)
    study.start(HeadShape((3, 1)))
    batch = batch_of(random_segments([6]))
    study.see(0, LayerMap(random_maps(batch, heads=3)[0], batch, None))
    study.see(1, LayerMap(random_maps(batch, heads=1)[0], batch, None))
    study.end_batch(batch)
    heads = table_of(study)[["layer", "head"]].drop_duplicates()
    assert list(heads.itertuples(index=False, name=None)) == [(1, 1), (1, 2), (1, 3), (2, 1)]


@pytest.mark.parametrize("name", NAMES)
def test_not_a_number_names_layer_and_head_and_leaves_the_sums_alone(name):
    study = study_of(name)
    study.start(HeadShape((3, 3)))
    batch = batch_of([segment([1, 0, 3, 2])])
    before = {key: array.copy() for key, array in study.state().items()}
    maps = random_maps(batch, 2)
    maps[1][0, 2] = torch.nan
    for layer, weights in enumerate(maps):
        study.see(layer, LayerMap(weights, batch, None))
    with pytest.raises(ModelError, match=r"head 2-3 .*not finite"):
        study.end_batch(batch)
    assert all((array == before[key]).all() for key, array in study.state().items())


@pytest.mark.parametrize("name", NAMES)
def test_replicates_are_means_over_segments_drawn_anew_and_intervals_their_percentiles(name):
    segments = random_segments([5, 3, 8, 2, 6])
    study = show(TEXT_STUDIES[name](seed=3, replicates=40), [batch_of(segments[:2]), batch_of(segments[2:])])
    column = "nats" if name == "entropy" else "value"
    alone = [table_of(show(study_of(name), [batch_of([one])])) for one in segments]
    weights = poisson_weights([one.id for one in segments], 40, 3)
    drawn = study.replicates()[name]
    table = table_of(study)
    assert drawn.shape == (40, len(table))
    for row in range(len(table)):
        counted = [k for k in range(len(segments)) if alone[k]["count"][row]]
        sizes = []
        for replicate in range(40):
            weighted = [(int(weights[k, replicate]), alone[k][column][row]) for k in counted]
            size = sum(weight for weight, _ in weighted)
            sizes.append(size)
            expected = sum(weight * value for weight, value in weighted) / size if size else np.nan
            np.testing.assert_allclose(drawn[replicate, row], expected, rtol=1e-5, atol=1e-7)
        there = drawn[:, row][~np.isnan(drawn[:, row])]
        if len(there):
            ends = table.loc[row, ["low", "high"]].astype(float)
            np.testing.assert_allclose(ends, expected_interval(there, units_like(sizes)), atol=1e-12)
