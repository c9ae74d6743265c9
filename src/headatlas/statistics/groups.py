"""Are things of one group closer to each other than to those of other groups? A permutation test on distances.

Under the null hypothesis groups mean nothing: any assignment of the things to groups of the same sizes is as likely
as the true one. So the true means are compared with those of random assignments:

- for all groups together, the mean distance within groups less that between groups;
- for each group with itself and each pair of groups, the mean distance of their things. Its p-value is also given
  adjusted for there being many: how often a random assignment makes *any* mean as small, in standard deviations
  (the single-step method of Westfall and Young).

All tests ask whether distances are smaller than by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.statistics.kernels.group_sums import group_sums

PERMUTATIONS = 1000
_SAME = 1e-9  # relative; equal assignments are to count as equal, whatever the rounding


@dataclass(frozen=True)
class GroupDistances:
    """Mean distances, and how often chance makes them as small.

    NaN where there is no pair to take a mean of; `p_adjusted` also where all assignments have the same mean.
    """

    within: float
    between: float
    p_value: float  # of within - between
    means: NDArray[np.float64]  # [G, G]
    pairs: NDArray[np.int64]  # [G, G], in each mean
    p_values: NDArray[np.float64]  # [G, G]
    p_adjusted: NDArray[np.float64]  # [G, G]


def group_distances(
    distances: NDArray[np.float64],
    groups: NDArray[np.int64],
    number: int,
    seed: int = 0,
    permutations: int = PERMUTATIONS,
) -> GroupDistances:
    """Test symmetric distances [N, N] of things in groups [N], numbered from 0 to `number` - 1."""
    sizes = np.bincount(groups, minlength=number)
    pairs = np.outer(sizes, sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1) // 2)
    rng = np.random.default_rng(seed)
    off_diagonal = distances.copy()
    np.fill_diagonal(off_diagonal, 0)
    assignments = np.stack([groups, *(rng.permutation(groups) for _ in range(permutations))])
    sums = group_sums(off_diagonal, assignments, number)  # [1 + P, G, G], each pair twice on the diagonal
    with np.errstate(invalid="ignore", divide="ignore"):
        sums /= 1 + np.eye(len(sizes))
        means = sums / pairs
        within, between = _within_and_between(sums, pairs)
        difference = within - between
        centre, spread = means.mean(0), means.std(0)
        deviations = (means - centre) / np.where(spread > _SAME * centre, spread, np.nan)
    least = np.where(np.isnan(deviations), np.inf, deviations).min((1, 2))  # [1 + P]
    return GroupDistances(
        float(within[0]),
        float(between[0]),
        float(_share_as_small(difference)),
        means[0],
        pairs,
        _share_as_small(means),
        np.where(np.isnan(deviations[0]), np.nan, (least[:, None, None] <= deviations[0] + _SAME).mean(0)),
    )


def _within_and_between(
    sums: NDArray[np.float64], pairs: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean distance of the pairs of one group, and of the pairs of two, in each assignment."""
    above = np.triu(np.ones(pairs.shape), 1)
    within = np.trace(sums, axis1=1, axis2=2) / np.trace(pairs)
    return within, (sums * above).sum((1, 2)) / (pairs * above).sum()


def _share_as_small(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often values [1 + P, ...] are at most the first, the true one, which counts too; NaN where it is NaN."""
    true = values[0]
    share = (values <= true + _SAME * np.abs(true)).mean(0)
    return np.where(np.isnan(true), np.nan, share)
