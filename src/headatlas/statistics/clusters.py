"""Points near each other: hierarchical clustering with average linkage, and how well it parts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage
from scipy.spatial.distance import squareform

from headatlas.progress import moved


@dataclass(frozen=True)
class Clusters:
    """The cluster of each point, from 1 in the order of their first points, and the tree that was cut."""

    labels: NDArray[np.int64]  # [N]
    silhouette: float
    tree: NDArray[np.float64]  # [N - 1, 4], as of scipy

    @property
    def number(self) -> int:
        """How many clusters there are; fewer than asked for where distances are equal."""
        return int(self.labels.max(initial=0))


def tree_of(distances: NDArray[np.float64], ordered: bool = False) -> NDArray[np.float64]:
    """Join the groups of least mean distance until one is left; `ordered` puts like leaves side by side."""
    if len(distances) < 2:
        return np.zeros((0, 4))
    return np.asarray(linkage(squareform(distances, checks=False), "average", optimal_ordering=ordered))


def order_of(tree: NDArray[np.float64]) -> NDArray[np.int64]:
    """The points, two or more, in the order of the tree's leaves."""
    return np.asarray(leaves_list(tree), dtype=np.int64)


def clusters_of(distances: NDArray[np.float64], number: int) -> Clusters:
    """Cut the tree of distances [N, N] into a number of clusters."""
    moved()
    tree = tree_of(distances)
    raw = fcluster(tree, _height(tree, number), "distance") if len(tree) else np.ones(len(distances), dtype=np.int64)
    _, first, inverse = np.unique(raw, return_index=True, return_inverse=True)
    labels = np.argsort(np.argsort(first))[inverse] + 1
    return Clusters(labels, silhouette(distances, labels), tree)


def _height(tree: NDArray[np.float64], number: int) -> float:
    """The least height to cut at that leaves at most this many clusters; below 0 where each point is one.

    scipy's own search for it, "maxclust", misses the lowest heights before scipy 1.16.
    """
    joins = len(tree) + 1 - number
    return float(tree[joins - 1, 2]) if joins > 0 else -1.0


def silhouette(distances: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Mean over points of (b - a) / max(a, b): a the mean distance within the own cluster, b to the nearest other.

    From -1 to 1; a point that is alone in its cluster counts 0. NaN where there is one cluster, or one for each point.
    """
    names, cluster, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if not 1 < len(names) < len(labels):
        return float("nan")
    every = np.arange(len(labels))
    sums = distances @ (cluster[:, None] == np.arange(len(names))).astype(np.float64)  # [N, clusters]
    inside = (sums[every, cluster] - np.diag(distances)) / np.maximum(sizes[cluster] - 1, 1)
    means = sums / sizes
    means[every, cluster] = np.inf
    outside = means.min(1)
    widest = np.maximum(inside, outside)
    counted = (sizes[cluster] > 1) & (widest > 0)
    return float(np.where(counted, (outside - inside) / np.where(counted, widest, 1), 0).mean())
