"""Heads that are alike lie together, layers are told apart, and missing distances are shown."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from headatlas.statistics.clusters import clusters_of
from headatlas.statistics.embedding import clouds, distances_of
from headatlas.statistics.resampling import permutation_p_value
from headatlas.studies import head_map as made
from headatlas.studies.head_map import CLOUDS, map_tables

LAYERS, HEADS = 4, 5
PLACES = np.array([(layer, head) for layer in range(LAYERS) for head in range(HEADS)])


def divergences(apart=3.0, seed=0):
    """Squared distances between points of the plane; each layer is a heap, the first and last are the same one."""
    rng = np.random.default_rng(seed)
    heaps = np.array([[0, 0], [1, 0], [0, 1], [0, 0]])
    points = rng.normal(size=(len(PLACES), 2)) + 4 * apart * heaps[PLACES[:, 0]]
    return squareform(pdist(points)) ** 2


def measures(tables):
    return tables["similarity"].set_index(["measure", "distance"])["value"]


def test_the_map_keeps_the_roots_of_the_distances():
    js = divergences()
    tables = map_tables(js, PLACES, clusters=3)
    head_map = tables["head_map"]
    np.testing.assert_allclose(squareform(pdist(head_map[["x", "y"]])), np.sqrt(js), atol=0.3)
    assert measures(tables)["stress", "sqrt_js"] < 0.02 < measures(tables)["stress", "js"]
    assert list(zip(head_map["layer"], head_map["head"], strict=True)) == [tuple(place) for place in PLACES + 1]


def test_the_map_of_the_divergence_itself():
    js = divergences()
    root, plain = (map_tables(js, PLACES, 3, name)["head_map"] for name in ("sqrt_js", "js"))
    assert plain["x"].max() > 3 * root["x"].max()
    assert (plain["cluster"] == root["cluster"]).all()


def test_heaps_become_clusters():
    tables = map_tables(divergences(), PLACES, clusters=3)
    by_layer = tables["head_map"].groupby("layer")["cluster"].agg(["min", "max"])
    assert by_layer.values.tolist() == [[1, 1], [2, 2], [3, 3], [1, 1]]
    assert measures(tables)["clusters", "sqrt_js"] == 3
    assert measures(tables)["silhouette", "sqrt_js"] > 0.6


def test_layers_that_matter_and_layers_that_resemble():
    js = divergences()
    tables = map_tables(js, PLACES, clusters=3)
    found = measures(tables)
    assert found["within_layers", "js"] < found["between_layers", "js"]
    assert found["p_layers", "js"] < 0.01
    layers = tables["layer_distances"].set_index(["layer_a", "layer_b"])
    assert len(layers) == LAYERS * (LAYERS + 1) // 2
    assert layers.loc[(1, 4), "value"] == pytest.approx(js[:5, 15:].mean())
    assert layers.loc[(1, 4), "p_value"] < 0.05 < layers.loc[(1, 2), "p_value"]
    assert layers.loc[(2, 2), "count"] == 10


def test_layers_that_do_not_matter():
    assert measures(map_tables(divergences(apart=0), PLACES, 3))["p_layers", "js"] > 0.05


def test_a_head_without_distances_has_no_place():
    js = divergences()
    js[7, :] = js[:, 7] = np.nan
    js[7, 7] = 0
    tables = map_tables(js, PLACES, clusters=3)
    head_map = tables["head_map"].set_index(["layer", "head"])
    assert head_map.loc[(2, 3)].isna().tolist() == [True, True, False]
    assert head_map.loc[(2, 3), "cluster"] == 0
    assert head_map["x"].notna().sum() == 19
    assert measures(tables)["heads_left_out", "js"] == 1
    assert tables["layer_distances"].set_index(["layer_a", "layer_b"]).loc[(2, 2), "count"] == 6


def test_nothing_seen_gives_empty_places():
    nothing = np.full((4, 4), np.nan)
    np.fill_diagonal(nothing, 0)
    tables = map_tables(nothing, PLACES[[0, 1, 5, 6]], clusters=2)
    assert tables["head_map"]["x"].notna().sum() == 1
    assert measures(tables)["heads_left_out", "js"] == 3
    assert np.isnan(measures(tables)["within_layers", "js"])


def test_a_single_head():
    tables = map_tables(np.zeros((1, 1)), PLACES[:1], clusters=8)
    assert tables["head_map"].values.tolist() == [[1, 1, 0, 0, 1]]


def test_the_same_seed_the_same_tables():
    one, other = (map_tables(divergences(), PLACES, 3, seed=5) for _ in range(2))
    assert all(one[name].equals(other[name]) for name in one)


def test_heaps_beat_clouds_and_a_cloud_does_not():
    heaps = measures(map_tables(divergences(), PLACES, clusters=3))
    assert heaps["p_clusters", "sqrt_js"] == 1 / (1 + CLOUDS)
    assert heaps["silhouette", "sqrt_js"] > heaps["cloud_silhouette", "sqrt_js"] + 0.2
    cloud = measures(map_tables(divergences(apart=0.0), PLACES, clusters=3))
    assert cloud["p_clusters", "sqrt_js"] > 0.05


def test_points_without_clusters_are_called_clustered_no_more_often_than_stated():
    """In few and in many dimensions, of equal and unequal spread."""
    wrong = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        spread = np.linspace(1, 0.1, 3 + 10 * (seed % 3))
        distances = squareform(pdist(rng.normal(size=(24, len(spread))) * spread))
        observed = clusters_of(distances, 4).silhouette
        nulls = np.array([clusters_of(distances_of(cloud), 4).silhouette for cloud in clouds(distances, 59, seed)])
        wrong.append(permutation_p_value(observed, nulls) <= 0.05)
    assert np.mean(wrong) <= 0.1


def test_of_many_heads_a_sample_is_tested_and_said_to_be(monkeypatch):
    """Heaps are found in the sample too, and what is not the test's is of all heads."""
    whole = measures(map_tables(divergences(), PLACES, clusters=3))
    monkeypatch.setattr(made, "TESTED_HEADS", 12)
    sampled = measures(map_tables(divergences(), PLACES, clusters=3))
    assert (whole["heads_tested", "sqrt_js"], sampled["heads_tested", "sqrt_js"]) == (20, 12)
    assert sampled["p_clusters", "sqrt_js"] == 1 / (1 + CLOUDS)
    unchanged = [name for name in whole.index if name[0] not in ("cloud_silhouette", "heads_tested", "p_clusters")]
    np.testing.assert_array_equal(whole[unchanged], sampled[unchanged])
