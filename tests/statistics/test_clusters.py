"""Clusters of points that lie apart, the silhouette against a loop, and degenerate cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import silhouette_score

from headatlas.statistics.clusters import clusters_of, order_of, silhouette, tree_of


def three_heaps(each=5):
    rng = np.random.default_rng(0)
    places = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], each, axis=0) + rng.normal(size=(3 * each, 2))
    shuffled = rng.permutation(3 * each)
    return squareform(pdist(places[shuffled])), shuffled // each


def silhouette_by_hand(distances, labels):
    values = []
    for i, own in enumerate(labels):
        to = {label: [distances[i, j] for j in range(len(labels)) if j != i and labels[j] == label] for label in labels}
        if not to[own]:
            values.append(0.0)
            continue
        inside = np.mean(to[own])
        outside = min(np.mean(lengths) for label, lengths in to.items() if label != own)
        values.append((outside - inside) / max(inside, outside))
    return np.mean(values)


def test_heaps_are_found_and_numbered_by_their_first_points():
    distances, heaps = three_heaps()
    found = clusters_of(distances, 3)
    numbers = {heap: number for number, heap in enumerate(dict.fromkeys(heaps.tolist()), 1)}
    assert found.labels.tolist() == [numbers[heap] for heap in heaps.tolist()]
    assert found.number == 3
    assert found.silhouette > 0.7


@pytest.mark.parametrize("number", [2, 3, 7])
def test_silhouette_against_a_loop(number):
    distances, _ = three_heaps()
    found = clusters_of(distances, number)
    assert found.silhouette == pytest.approx(silhouette_by_hand(distances, found.labels.tolist()))


def test_average_linkage_against_a_loop():
    distances, _ = three_heaps(each=3)
    groups = [[k] for k in range(len(distances))]
    heights = []
    while len(groups) > 1:
        mean, a, b = min(
            (np.mean(distances[np.ix_(one, other)]), i, j)
            for i, one in enumerate(groups)
            for j, other in enumerate(groups)
            if i < j
        )
        heights.append(mean)
        groups = [group for k, group in enumerate(groups) if k not in (a, b)] + [groups[a] + groups[b]]
    np.testing.assert_allclose(tree_of(distances)[:, 2], heights)


def test_clusters_are_whole_runs_of_leaves():
    distances, _ = three_heaps()
    labels = clusters_of(distances, 4).labels
    for ordered in (False, True):
        order = order_of(tree_of(distances, ordered))
        assert sorted(order.tolist()) == list(range(15))
        assert (np.diff(labels[order]) != 0).sum() == 3


@pytest.mark.parametrize("number", range(1, 16))
def test_every_number_of_clusters_is_found_where_no_distances_are_equal(number):
    distances, _ = three_heaps()
    found = clusters_of(distances, number)
    assert found.number == number
    together = found.labels[:, None] == found.labels
    joined_below_the_cut = np.isin(squareform(cophenet(found.tree)), found.tree[: 15 - number, 2])
    assert (together == (joined_below_the_cut | np.eye(15, dtype=bool))).all()


@pytest.mark.parametrize("number", [1, 15, 40])
def test_one_cluster_or_one_each_have_no_silhouette(number):
    distances, _ = three_heaps()
    found = clusters_of(distances, number)
    assert found.number == min(number, 15)
    assert math.isnan(found.silhouette)


@pytest.mark.parametrize("points", [0, 1, 2])
def test_few_points(points):
    found = clusters_of(np.ones((points, points)) - np.eye(points), 8)
    assert found.number == points
    assert found.tree.shape == (max(0, points - 1), 4)


def test_equal_points_make_fewer_clusters_than_asked_for():
    found = clusters_of(np.zeros((4, 4)), 3)
    assert found.labels.tolist() == [1, 1, 1, 1]


def test_the_silhouette_leaves_the_distances_alone():
    distances, heaps = three_heaps()
    np.fill_diagonal(distances, 1e-9)  # of rounding
    before = distances.copy()
    silhouette(distances, heaps)
    assert (distances == before).all()


def test_the_silhouette_is_that_of_scikit_learn():
    rng = np.random.default_rng(4)
    distances = squareform(pdist(rng.normal(size=(60, 3))))
    labels = np.append(rng.integers(1, 6, 59), 9)  # the last point is alone
    assert silhouette(distances, labels) == pytest.approx(silhouette_score(distances, labels, metric="precomputed"))


def test_equal_points_of_two_clusters_have_a_silhouette_of_0():
    assert silhouette(np.zeros((4, 4)), np.array([1, 1, 2, 2])) == 0
