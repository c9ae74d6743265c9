"""Rank correlations with intervals, and the null that heads within a layer are exchangeable."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit
from scipy.stats import rankdata

from headatlas.statistics.resampling import CONFIDENCE

Floats = NDArray[np.float64]
_LARGEST = 1 - 1e-9  # of a correlation, on Fisher's scale


def pearson(first: Floats, second: Floats) -> Floats:
    """Correlation along the last axis; NaN where a side is constant, or has fewer than three values."""
    if first.shape[-1] < 3:
        return np.full(np.broadcast_shapes(first.shape, second.shape)[:-1], np.nan)
    away = [side - side.mean(-1, keepdims=True) for side in (first, second)]
    spread = np.sqrt(np.square(away[0]).sum(-1) * np.square(away[1]).sum(-1))
    products = (away[0] * away[1]).sum(-1)
    return np.asarray(np.divide(products, spread, out=np.full_like(products, np.nan), where=spread > 0))


def spearman(first: Floats, second: Floats) -> Floats:
    """Correlation of the ranks along the last axis; NaN where a side is constant, missing, or has too few values."""
    missing = (np.isnan(first) | np.isnan(second)).any(-1)
    ranks = pearson(rankdata(first, axis=-1), rankdata(second, axis=-1))
    return np.asarray(np.where(missing, np.nan, ranks))


def fisher_interval(value: float, replicates: Floats, units: float) -> tuple[float, float]:
    """The 95 % interval of a correlation from the spread of its bootstrap replicates [R], on Fisher's scale.

    Resampling adds noise to both sides, which lowers correlations; so the replicates serve for their spread alone, and
    the interval lies around the value. units: how many units were resampled.
    """
    known = replicates[~np.isnan(replicates)]
    if math.isnan(value) or len(known) < 2 or units < 2:
        return math.nan, math.nan
    half = stdtrit(units - 1, (1 + CONFIDENCE) / 2) * np.arctanh(np.clip(known, -_LARGEST, _LARGEST)).std(ddof=1)
    centre = math.atanh(min(max(value, -_LARGEST), _LARGEST))
    return math.tanh(centre - half), math.tanh(centre + half)


def permuted_within(groups: NDArray[np.int64], permutations: int, seed: int) -> NDArray[np.int64]:
    """Permutations of places that move none out of its group, such as heads within layers: [P, N]."""
    rng = np.random.default_rng([seed, 11])
    keys = rng.random((permutations, len(groups)))
    places = np.empty((permutations, len(groups)), dtype=np.int64)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        places[:, members] = members[np.argsort(keys[:, members], axis=1)]
    return places
