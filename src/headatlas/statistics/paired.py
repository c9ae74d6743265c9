"""Paired changes: by how much do the same examples score otherwise under each of many conditions?

The mean change of a condition has a bootstrap interval over examples (or groups of them, such as sentences), for a
condition given beforehand. Its p value tests the null hypothesis that a condition changes nothing, so that the sign
of a unit's change is chance: signs are flipped for all conditions alike, a condition's statistic is its total change
over the root of its sum of squares, and it is compared with the largest of any condition in each permutation (the
single-step maximum method of Westfall and Young 1993). So p values are corrected for the number of conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.statistics.resampling import percentile_interval, poisson_weights, signs

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairedChanges:
    """Of each of C conditions."""

    mean: Floats  # [C]
    low: Floats  # [C], ends of the 95 % bootstrap interval of the mean
    high: Floats  # [C]
    p_value: Floats  # [C], two-sided, corrected for C


def paired_changes(changes: Floats, ids: Sequence[str], *, seed: int, resamplings: int) -> PairedChanges:
    """Means, intervals and p values of changes [E, C]; rows are examples with unique ids."""
    low, high = bootstrap_means(changes, ids, seed=seed, resamplings=resamplings)
    flips = signs(ids, resamplings, seed)  # [E, P]
    spread = np.sqrt(np.square(changes).sum(0))  # [C]
    spread[spread == 0] = np.inf  # no example changes
    permuted = np.abs(flips.T.astype(np.float64) @ changes / spread).max(1)  # [P]
    observed = np.abs(changes.sum(0)) / spread
    # float sums of the same numbers in another order may differ in their last digits
    as_large = (permuted[:, None] >= observed * (1 - 1e-9)).sum(0)
    return PairedChanges(changes.mean(0), low, high, (1 + as_large) / (1 + resamplings))


def bootstrap_means(values: Floats, ids: Sequence[str], *, seed: int, resamplings: int) -> tuple[Floats, Floats]:
    """95 % intervals of the mean of each column of values [E, C], resampling rows: low and high, each [C]."""
    weights = poisson_weights(ids, resamplings, seed).astype(np.float64)  # [E, R]
    totals = weights.sum(0)
    drawn = totals > 0
    return percentile_interval(weights.T[drawn] @ values / totals[drawn, None], len(ids))


def holm(p_values: Floats) -> Floats:
    """p values of several tests, corrected for their number (Holm 1979); a missing one stays missing."""
    corrected = np.full_like(p_values, np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    stepped = p_values[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1.0) if len(order) else stepped
    return corrected
