"""Points in the plane with distances close to given ones: metric multidimensional scaling (section 6, figure 6).

Scaling may end in different places, by where it starts. So it is run several times, once from the picture of classical
scaling and then from chance; the run of least stress is kept, and the others tell how far it can be trusted:

- *stress* is Kruskal's stress-1: the root of the summed squared differences between drawn and given distances over the
  summed squared drawn ones. 0 is a perfect picture; above 0.2 distances can be read only roughly.
- *disparity* is Procrustes': the squared differences left between the kept run and another after the other was moved,
  turned and scaled onto it, of 1 in all. 0 is the same picture; its median over the other runs is given.

A step costs as much as there are pairs. So the more points there are, the fewer runs are made (`runs_for`): all eight
up to 512 points, two from 1,024 on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh
from scipy.spatial import procrustes

from headatlas.progress import moved
from headatlas.statistics.kernels.scaling import guttman_step

RUNS, FEWEST_RUNS = 8, 2
MOST_STEPS = 1000
SMALLEST_GAIN = 1e-6  # of the squared errors over the squared drawn distances, below which a run ends
FULL_RUNS = 512  # points up to which all runs are made
_EXACT = 500  # points up to which eigenvectors are found by factorisation, beyond by iteration


@dataclass(frozen=True)
class Embedding:
    """The kept run: its points, its stress, and how the other runs differ."""

    points: NDArray[np.float64]  # [N, 2], around 0, the widest direction along x
    stress: float
    disparity: float  # NaN with fewer than three points, which have no shape, or a single run


def runs_for(points: int) -> int:
    """How many runs to make: as many as cost no more than all of them at FULL_RUNS points, but always another one."""
    return max(FEWEST_RUNS, min(RUNS, RUNS * FULL_RUNS**2 // max(points, 1) ** 2))


def embed(distances: NDArray[np.float64], seed: int = 0, runs: int | None = None) -> Embedding:
    """The plane picture of symmetric finite distances [N, N]; the same seed gives the same points."""
    if not distances.any():
        return Embedding(np.zeros((len(distances), 2)), 0.0, np.nan)
    runs, rng = runs or runs_for(len(distances)), np.random.default_rng(seed)
    starts = [_classical(distances), *(rng.uniform(0, distances.max(), (len(distances), 2)) for _ in range(runs - 1))]
    pictures = [scaled(distances, start) for start in starts]
    pictures.sort(key=lambda points: stress(points, distances))
    best, *others = pictures
    alike = len(distances) >= 3 and len(others) > 0
    disparity = float(np.median([procrustes(best, other)[2] for other in others])) if alike else np.nan
    return Embedding(_upright(best), stress(best, distances), disparity)


def clouds(distances: NDArray[np.float64], number: int, seed: int = 0) -> Iterator[NDArray[np.float64]]:
    """Points [N, D] without clusters but as widely spread as those of the given distances [N, N].

    They are drawn from one normal distribution, in as many dimensions as the given ones need, with the variance
    of classical scaling in each.
    """
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(_inner(distances)), 0) / max(len(distances) - 1, 1))  # [D]
    rng = np.random.default_rng(seed)
    for _ in range(number):
        yield rng.standard_normal(distances.shape) * spread


def stress(points: NDArray[np.float64], distances: NDArray[np.float64]) -> float:
    """Kruskal's stress-1 of points [N, 2] for distances [N, N]."""
    _, error, drawn = guttman_step(distances, points)
    return float(np.sqrt(error / drawn))


def comparable(distances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which points to keep so that no distance is missing (NaN): those with the most missing go first. [N]"""
    missing = np.isnan(distances)
    kept, gaps = np.ones(len(distances), dtype=bool), missing.sum(1)
    while gaps.any():
        worst = gaps.argmax()
        kept[worst] = False
        gaps = np.where(kept, gaps - missing[worst], 0)
    return kept


def scaled(distances: NDArray[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """One run of SMACOF, which ends when a step gains little. [N, 2]"""
    points, error, _ = guttman_step(distances, start)
    for step in range(MOST_STEPS):
        closer, after, drawn = guttman_step(distances, points)
        moved()
        if step and error - after < SMALLEST_GAIN * drawn:
            break
        points, error = closer, after
    return points


def _classical(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The two widest directions of the points that have these distances in as many dimensions as needed. [N, 2]"""
    inner, number = _inner(distances), len(distances)
    if number <= _EXACT:
        values, vectors = (part[..., -2:] for part in np.linalg.eigh(inner))  # scipy may lose some that are equal
    else:
        values, vectors = eigsh(inner, k=2, which="LA", v0=inner[np.diag(inner).argmax()])
    plane = vectors * np.sqrt(np.maximum(values, 0))
    return np.asarray(plane)


def distances_of(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distances of points [N, D] that are far apart for their size, by one matrix product. [N, N]"""
    products = points @ points.T
    squares = np.diag(products).copy()
    products *= -2
    products += squares
    products += squares[:, None]
    np.fill_diagonal(products, 0)
    return np.sqrt(np.maximum(products, 0, out=products), out=products)


def _inner(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inner products of centred points that have these distances. [N, N]"""
    squares = distances**2
    return np.asarray(-(squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()) / 2)


def _upright(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same picture around 0, turned so that x is its widest direction and the farthest points positive."""
    centred = points - points.mean(0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    farthest = turned[np.abs(turned).argmax(0), np.arange(turned.shape[1])]
    return np.asarray(turned * np.where(farthest < 0, -1, 1))
