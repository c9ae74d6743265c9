"""What the distances between heads show: a map of the heads, clusters, and whether layers matter (section 6, figure 6).

The map and the clusters are made of the root of the Jensen-Shannon divergence, which is a metric; or the map of the
divergence itself, as in the paper's figure. What the paper sees in its figure, that a layer's heads tend to lie
together, is put to a test, for all layers, each layer, and each pair of layers. So are the clusters: their silhouette
is compared with those of clouds of points that are spread as widely but have no clusters. Of more than TESTED_HEADS
heads this test takes a random sample of as many, clustered anew; `heads_tested` says how many it took.

A head that lacks a distance to another, because in no text both attended to anything, cannot be placed: it is counted,
has no coordinates, and belongs to cluster 0.
"""

from __future__ import annotations

from threading import Lock

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.statistics.clusters import clusters_of
from headatlas.statistics.embedding import clouds, comparable, distances_of, embed
from headatlas.statistics.groups import GroupDistances, group_distances
from headatlas.statistics.kernels.threads import side_by_side
from headatlas.statistics.resampling import permutation_p_value

NO_CLUSTER = 0
CLOUDS = 199  # without clusters, to compare the clusters with
TESTED_HEADS = 512  # at most: a cloud costs the cube of their number


def map_tables(
    distances: NDArray[np.float64],
    heads: NDArray[np.int64],
    clusters: int,
    map_distance: str = "sqrt_js",
    seed: int = 0,
) -> dict[str, pd.DataFrame]:
    """Three tables from divergences [H, H] of heads [H, 2], given as layer and head from 0.

    `head_map`: layer, head, x, y, cluster. `layer_distances`: layer_a, layer_b, value, count, p_value, p_adjusted.
    `similarity`: measure, distance, value.
    """
    placed = comparable(distances)
    js = distances if placed.all() else distances[np.ix_(placed, placed)]
    layers = group_distances(js, heads[placed, 0], len(np.unique(heads[:, 0])), seed)
    root = np.sqrt(js)
    pictures = {name: embed(table, seed) for name, table in (("sqrt_js", root), ("js", js))}
    groups = clusters_of(root, clusters)
    test = _test_clusters(root, clusters, groups.silhouette, seed)
    measures = [
        *(("stress", name, picture.stress) for name, picture in pictures.items()),
        *(("disparity", name, picture.disparity) for name, picture in pictures.items()),
        ("clusters", "sqrt_js", groups.number),
        ("silhouette", "sqrt_js", groups.silhouette),
        *((measure, "sqrt_js", value) for measure, value in test.items()),
        ("within_layers", "js", layers.within),
        ("between_layers", "js", layers.between),
        ("p_layers", "js", layers.p_value),
        ("heads_left_out", "js", int((~placed).sum())),
    ]
    return {
        "head_map": _head_map(heads, placed, pictures[map_distance].points, groups.labels),
        "layer_distances": _layer_table(layers),
        "similarity": pd.DataFrame(measures, columns=["measure", "distance", "value"]).astype({"value": np.float64}),
    }


def _test_clusters(root: NDArray[np.float64], clusters: int, silhouette: float, seed: int) -> dict[str, float]:
    """Compare the silhouette of the clusters, or of those of a sample of heads, with those of clouds."""
    if len(root) > TESTED_HEADS:
        sample = np.sort(np.random.default_rng(seed).permutation(len(root))[:TESTED_HEADS])
        root = root[np.ix_(sample, sample)]
        silhouette = clusters_of(root, clusters).silhouette
    without = np.empty(0 if np.isnan(silhouette) else CLOUDS)
    drawn, one_draws = enumerate(clouds(root, len(without), seed)), Lock()

    def cluster_cloud(_which: int) -> None:
        with one_draws:
            number, points = next(drawn)
        without[number] = clusters_of(distances_of(points), clusters).silhouette

    side_by_side(cluster_cloud, range(len(without)))
    return {
        "cloud_silhouette": without.mean() if len(without) else np.nan,
        "p_clusters": permutation_p_value(silhouette, without),
        "heads_tested": len(root),
    }


def _head_map(
    heads: NDArray[np.int64], placed: NDArray[np.bool_], points: NDArray[np.float64], labels: NDArray[np.int64]
) -> pd.DataFrame:
    """layer, head, x, y, cluster: for all heads, though only those placed have coordinates."""
    places = np.full((len(heads), 2), np.nan)
    places[placed] = points
    clusters = np.full(len(heads), NO_CLUSTER)
    clusters[placed] = labels
    layer, head = heads.T + 1
    return pd.DataFrame({"layer": layer, "head": head, "x": places[:, 0], "y": places[:, 1], "cluster": clusters})


def _layer_table(layers: GroupDistances) -> pd.DataFrame:
    """layer_a, layer_b, value, count, p_value, p_adjusted: each layer with itself and those after it."""
    a, b = np.triu_indices(len(layers.means))
    return pd.DataFrame(
        {
            "layer_a": a + 1,
            "layer_b": b + 1,
            "value": layers.means[a, b],
            "count": layers.pairs[a, b],
            "p_value": layers.p_values[a, b],
            "p_adjusted": layers.p_adjusted[a, b],
        }
    )
