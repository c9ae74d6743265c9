"""What every study of segment means promises besides the contract of all studies: the mean of means, its intervals."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headatlas.errors import ModelError
from headatlas.models.stacks import HeadShape
from headatlas.statistics.resampling import effective_units, percentile_interval, poisson_weights
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
    expected = (apart[0]["value"] + apart[1]["value"]) / 2
    counted_twice = both["count"] == 2
    assert counted_twice.any()
    np.testing.assert_allclose(both["value"][counted_twice], expected[counted_twice], rtol=1e-5, atol=1e-7)


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
    alone = [table_of(show(study_of(name), [batch_of([one])])) for one in segments]
    weights = poisson_weights([one.id for one in segments], 40, 3)
    drawn = study.replicates()[name]
    table = table_of(study)
    assert drawn.shape == (40, len(table))
    for row in range(len(table)):
        counted = [k for k in range(len(segments)) if alone[k]["count"][row]]
        sizes = []
        for replicate in range(40):
            weighted = [(int(weights[k, replicate]), alone[k]["value"][row]) for k in counted]
            size = sum(weight for weight, _ in weighted)
            sizes.append(size)
            expected = sum(weight * value for weight, value in weighted) / size if size else np.nan
            np.testing.assert_allclose(drawn[replicate, row], expected, rtol=1e-5, atol=1e-7)
        there = drawn[:, row][~np.isnan(drawn[:, row])]
        if len(there):
            ends = table.loc[row, ["low", "high"]].astype(float)
            np.testing.assert_allclose(ends, expected_interval(there, units_like(sizes)), atol=1e-12)


LAYERED = [name for name in NAMES if len(TEXT_STUDIES[name].tables) > 1]


@pytest.mark.parametrize("name", LAYERED)
def test_layers_hold_the_means_over_heads_with_intervals_of_the_same_replicates(name):
    batches = [batch_of(random_segments([5, 3, 8])), batch_of(random_segments([2, 6], seed=5))]
    study = show(TEXT_STUDIES[name](seed=3, replicates=40), batches)
    heads, layers = study.frames().values()
    key, measure = study.tables[0].keys[2].name, study.tables[0].measures[0].name
    drawn = study.replicates()[name]
    for layer, column in ((layer, column) for layer in (1, 2) for column in study.columns):
        rows = ((heads["layer"] == layer) & (heads[key] == column)).to_numpy()
        [row] = layers[(layers["layer"] == layer) & (layers[key] == column)].to_dict("records")
        np.testing.assert_allclose(row["value"], heads[measure][rows].mean())
        replicates = drawn[:, rows].mean(1)
        replicates = replicates[~np.isnan(replicates)]
        units = effective_units(study.drawn_count)[study.columns.index(column)]
        low, high = percentile_interval(replicates[:, None], units)
        np.testing.assert_allclose([row["low"], row["high"]], [low[0], high[0]])


def test_contrasts_of_layers_are_differences_and_ratios_of_their_means():
    batches = [batch_of(random_segments([5, 3, 8, 7], seed=2))]

    def values(name):
        layers = show(study_of(name), batches).frames()[f"{name}_layers"]
        return layers.pivot(index="layer", columns=layers.columns[1], values="value")

    kinds, entropy, gradients = (values(name) for name in ("token_kinds", "entropy", "gradients"))
    assert np.isnan(kinds.loc[1, "sep_rise"])
    for kind in ("cls", "sep"):
        np.testing.assert_allclose(kinds.loc[2, f"{kind}_rise"], kinds.loc[2, kind] - kinds.loc[1, kind])
        np.testing.assert_allclose(gradients[f"{kind}_ratio"], gradients[kind] / gradients["other"])
    np.testing.assert_allclose(entropy["cls_less_all"], entropy["cls"] - entropy["all"])


@pytest.mark.parametrize("name", LAYERED)
def test_the_control_stands_beside_heads_and_layers(name):
    study, control = (show(study_of(name), [batch_of(random_segments(lengths))]) for lengths in ([6, 4], [9, 3]))
    study.control = control
    heads, layers = study.frames().values()
    of_heads, of_layers = control.frames().values()
    np.testing.assert_allclose(heads["control"], of_heads[study.tables[0].measures[0].name])
    np.testing.assert_allclose(layers["control"], of_layers["value"])
    assert np.isnan(of_layers["control"]).all()
