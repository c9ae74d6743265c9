"""Points in the plane with distances close to given ones: metric multidimensional scaling (section 6, figure 6).

Scaling may end in different places, by where it starts. So it is run several times, once from the picture of classical
scaling and then from chance; the run of least stress is kept, and the others tell how far it can be trusted:

- *stress* is Kruskal's stress-1: the root of the summed squared differences between drawn and given distances over the
  summed squared drawn ones. 0 is a perfect picture; above 0.2 distances can be read only roughly.
- *disparity* is Procrustes': the squared differences left between the kept run and another after the other was moved,
  turned and scaled onto it, of 1 in all. 0 is the same picture; its median over the other runs is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform
from sklearn import config_context
from sklearn.manifold import smacof

from headatlas.progress import moved

RUNS = 8
MOST_STEPS = 1000
SMALLEST_GAIN = 1e-6  # of the stress, below which a run ends


@dataclass(frozen=True)
class Embedding:
    """The kept run: its points, its stress, and how the other runs differ."""

    points: NDArray[np.float64]  # [N, 2], around 0, the widest direction along x
    stress: float
    disparity: float  # NaN with fewer than three points, which have no shape, or a single run


def embed(distances: NDArray[np.float64], seed: int = 0, runs: int = RUNS) -> Embedding:
    """The plane picture of symmetric finite distances [N, N]; the same seed gives the same points."""
    if not distances.any():
        return Embedding(np.zeros((len(distances), 2)), 0.0, np.nan)
    rng = np.random.default_rng(seed)
    starts = [_classical(distances), *(rng.uniform(0, distances.max(), (len(distances), 2)) for _ in range(runs - 1))]
    pictures = [_scaled(distances, start) for start in starts]
    pictures.sort(key=lambda points: stress(points, distances))
    best, *others = pictures
    alike = len(distances) >= 3 and len(others) > 0
    disparity = float(np.median([procrustes(best, other)[2] for other in others])) if alike else np.nan
    return Embedding(_upright(best), stress(best, distances), disparity)


def clouds(distances: NDArray[np.float64], number: int, seed: int = 0) -> Iterator[NDArray[np.float64]]:
    """Distances [N, N] of points without clusters but as widely spread as those of the given distances.

    The points are drawn from one normal distribution, in as many dimensions as the given ones need, with the variance
    of classical scaling in each.
    """
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(_inner(distances)), 0) / max(len(distances) - 1, 1))  # [D]
    rng = np.random.default_rng(seed)
    for _ in range(number):
        yield squareform(pdist(rng.standard_normal(distances.shape) * spread))


def stress(points: NDArray[np.float64], distances: NDArray[np.float64]) -> float:
    """Kruskal's stress-1 of points [N, D] for distances [N, N]."""
    drawn = pdist(points)
    wrong = drawn - squareform(distances, checks=False)
    return float(np.sqrt((wrong**2).sum() / (drawn**2).sum()))


def comparable(distances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which points to keep so that no distance is missing (NaN): those with the most missing go first. [N]"""
    missing = np.isnan(distances)
    comparable_points = np.ones(len(distances), dtype=bool)
    while (gaps := (missing & comparable_points & comparable_points[:, None]).sum(1)).any():
        comparable_points[np.argmax(gaps)] = False
    return comparable_points


def _classical(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The two widest directions of the points that have these distances in as many dimensions as needed. [N, 2]"""
    values, vectors = np.linalg.eigh(_inner(distances))
    plane = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    return np.asarray(plane)


def _inner(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inner products of centred points that have these distances. [N, N]"""
    squares = distances**2
    return np.asarray(-(squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()) / 2)


def _scaled(distances: NDArray[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """One run."""
    with config_context(assume_finite=True, skip_parameter_validation=True):  # checks would take as long as the steps
        moved()
        points, _ = smacof(distances, init=start, n_init=1, max_iter=MOST_STEPS, eps=SMALLEST_GAIN)
    return np.asarray(points)


def _upright(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same picture around 0, turned so that x is its widest direction and the farthest points positive."""
    centred = points - points.mean(0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    farthest = turned[np.abs(turned).argmax(0), np.arange(turned.shape[1])]
    return np.asarray(turned * np.where(farthest < 0, -1, 1))
