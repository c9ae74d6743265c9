"""Paired changes: by how much do the same examples score otherwise under each of many conditions?

Examples are resampled by unit: each alone, or whole documents, whose examples are alike. The mean change of a condition
has a bootstrap interval, for a condition given beforehand.

Its p-value tests that the mean change is 0. Changes of a loss are skewed, so the test must not take them as symmetric,
as flipping signs would. It is a studentised bootstrap: t is the mean over its standard error, and is compared with the
t of resamples around the observed mean, each with the standard error of the resample itself (Hall 1992, "The bootstrap
and Edgeworth expansion"). The |t| of a condition is compared with the largest of any condition in each resample (the
single step of Westfall and Young 1993). So p-values are two-sided and corrected for the number of conditions.

A condition that changes few units has a resample now and then in which these hardly vary, and a huge t. One such
condition among many would set the largest t of all, and nothing could be found. So where many conditions are tested,
each variance is drawn towards a common one, as if the condition changed POOLED more units (Smyth 2004, "Linear models
and empirical Bayes methods", and Tusher et al. 2001, "Significance analysis of microarrays", for the same reason).
Resamples are treated like the sample, so the test stays valid; `benchmarks/calibration_paired.py` measures that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headatlas.progress import moved
from headatlas.statistics.resampling import CONFIDENCE, percentile_interval, poisson_weights

Floats = NDArray[np.float64]

FEWEST_CHANGED = 10  # units in which a condition changes anything; with fewer, resamples do without any of them
POOLED = 10  # units' worth of the common variance in the variance of each condition
FEWEST_POOLED = 20  # conditions that have a variance in common; with fewer, each has its own alone
_ROUNDING = 1e-12  # of the sum of squares: what is left of it where all units drawn have the same change


@dataclass(frozen=True)
class PairedChanges:
    """Of each of C conditions, from U units and R resamples."""

    mean: Floats  # [C]
    low: Floats  # [C], ends of the 95 % bootstrap interval of the mean
    high: Floats  # [C]
    p_value: Floats  # [C], two-sided, corrected for C; 1 of a condition with fewer than FEWEST_CHANGED changed units
    error: Floats  # [C], what t divides the mean by; NaN of a condition that is not tested
    largest: Floats  # [R], the largest |t| of any condition in each resample

    def findable(self, level: float) -> float:
        """The mean change that would be significant at a level, for a condition of median standard error.

        It is infinite if no change would be, as with few resamples, or none large enough to test.
        """
        exceeded_by = math.ceil(level * (1 + len(self.largest))) - 2  # of the resamples, at most
        if exceeded_by < 0 or np.isnan(self.error).all():
            return math.inf
        critical = np.sort(self.largest)[-1 - exceeded_by]
        return float(critical * np.nanmedian(self.error))


def paired_changes(
    changes: Floats, ids: Sequence[str], *, seed: int, resamplings: int, units: Sequence[str] | None = None
) -> PairedChanges:
    """Means, intervals and p-values of changes.

    Args:
        changes: One value per example and condition, shape [E, C].
        ids: The name of each example, unique.
        seed: Makes the result reproducible; it does not depend on the order of examples.
        resamplings: How many times to resample.
        units: The unit of each example, such as its document, which is resampled whole. Default: the example itself.
    """
    sampled = _Units(changes, units or ids, seed, resamplings)
    low, high = sampled.interval()
    tested = sampled.changed() >= FEWEST_CHANGED
    error, p_value = np.full(len(tested), np.nan), np.ones(len(tested))
    error[tested], drawn = sampled.studentise(tested)
    observed = np.abs(sampled.mean[tested]) / error[tested]
    # float sums of the same numbers in another order may differ in their last digits
    p_value[tested] = (1 + (drawn[:, None] >= observed * (1 - 1e-9)).sum(0)) / (1 + resamplings)
    return PairedChanges(sampled.mean, low, high, p_value, error, drawn)


def bootstrap_means(
    values: Floats, ids: Sequence[str], *, seed: int, resamplings: int, units: Sequence[str] | None = None
) -> tuple[Floats, Floats]:
    """95 % intervals of the mean of each column of values [E, C], resampling rows by unit: low and high, each [C]."""
    return _Units(values, units or ids, seed, resamplings).interval()


def resampled_means(values: Floats, units: Sequence[str], *, seed: int, resamplings: int) -> Floats:
    """The mean of each column of values [E, C] in every resample of units: [R, C]; NaN where none is drawn."""
    return _Units(values, units, seed, resamplings).resampled()


class _Units:
    """Sums of values [E, C] by unit, and the bootstrap weights of the units."""

    def __init__(self, values: Floats, units: Sequence[str], seed: int, resamplings: int) -> None:
        names, unit = np.unique(units, return_inverse=True)
        self._sizes = np.bincount(unit).astype(np.float64)  # [U]
        sums = np.zeros((len(names), values.shape[1]))
        np.add.at(sums, unit, values)
        self.mean: Floats = sums.sum(0) / self._sizes.sum()
        self._sums, self._away = sums, sums - self._sizes[:, None] * self.mean  # [U, C]
        weights = poisson_weights([str(name) for name in names], resamplings, seed).T.astype(np.float64)  # [R, U]
        self._weights = weights

    def changed(self) -> NDArray[np.int64]:
        """How many units each condition changes: [C]."""
        return np.asarray(np.count_nonzero(self._sums, axis=0), dtype=np.int64)

    def resampled(self) -> Floats:
        totals = self._weights @ self._sizes
        totals[totals == 0] = np.nan  # no unit was drawn
        means: Floats = self.mean + self._weights @ self._away / totals[:, None]
        return means

    def interval(self) -> tuple[Floats, Floats]:
        return percentile_interval(self.resampled(), self._sizes.sum() ** 2 / np.square(self._sizes).sum())

    def studentise(self, tested: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """What t divides the means of the tested conditions by, [C], and the largest |t| of any in each resample, [R].

        A resample is taken around the observed mean. Its t is infinite where all units drawn have the same change and
        no variance is in common.
        """
        moved()
        away, sizes, weights = self._away[:, tested], self._sizes, self._weights
        many, total = len(sizes), sizes.sum()
        variance = np.square(away).sum(0) * (many / (many - 1) if many > 1 else np.inf) / total**2  # of the mean: [C]
        drawn_total, drawn_many = weights @ sizes, weights.sum(1)
        shift = weights @ away / np.maximum(drawn_total, 1)[:, None]  # [R, C]
        crossed, squared = weights @ (away * sizes[:, None]), weights @ np.square(away)
        squares = squared - 2 * shift * crossed + np.square(shift) * (weights @ np.square(sizes))[:, None]
        squares = np.where(squares > _ROUNDING * np.square(away).sum(0), squares, 0.0)
        scale = drawn_many / np.maximum(drawn_many - 1, 1) / np.square(np.maximum(drawn_total, 1))
        drawn_variance = squares * scale[:, None]
        if tested.sum() >= FEWEST_POOLED:
            freedom = self.changed()[tested] - 1
            own = freedom / (freedom + POOLED)
            common = (1 - own) * np.square(np.median(np.sqrt(variance)))
            variance, drawn_variance = own * variance + common, own * drawn_variance + common
        varies = drawn_variance > 0
        t = np.where(varies, np.abs(shift) / np.sqrt(np.where(varies, drawn_variance, 1)), np.inf)
        return np.sqrt(variance), np.asarray(t.max(1, initial=0.0))


def holm(p_values: Floats) -> Floats:
    """p values of several tests, corrected for their number (Holm 1979); a missing one stays missing."""
    corrected = np.full_like(p_values, np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    stepped = p_values[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1.0) if len(order) else stepped
    return corrected


def jackknife_shares(counts: Floats, score: Callable[[Floats], float]) -> Floats:
    """Divide the score of summed counts among examples: [E, ..., counts] -> [E, ...].

    A share is the score of all, plus E - 1 times what the score loses without the example beyond what it loses without
    one on average.
    """
    totals, size = counts.sum(0), len(counts)
    whole = np.apply_along_axis(score, -1, totals)
    if size == 1:
        return np.asarray(whole)[None]
    without_one = np.apply_along_axis(score, -1, totals - counts)
    shares: Floats = whole + (size - 1) * (without_one.mean(0) - without_one)
    return shares


def shares_beside(counts: Floats, plain: Floats, score: Callable[[Floats], float]) -> Floats:
    """Shares under other conditions, counts [E, C, counts], beside those of plain counts [E, counts]: [E, C].

    An example that a condition leaves as it is keeps its plain share, so that it has none in the change. What that
    leaves of the change, which is of second order, is divided among the examples that the condition changes.
    """
    kept = (counts == plain[:, None]).all(-1)  # [E, C]
    own = jackknife_shares(counts, score)
    shares: Floats = np.where(kept, jackknife_shares(plain, score)[:, None], own)
    rest = (own.sum(0) - shares.sum(0)) / np.maximum((~kept).sum(0), 1)  # [C]
    shares += np.where(kept, 0.0, rest)
    return shares


def simultaneous_leads(differences: Floats, ids: Sequence[str], *, seed: int, resamplings: int) -> PairedChanges:
    """By how much one method scores better than each of many others on the same documents.

    The same largest |t| of each resample sets the width of the intervals. So intervals and p-values hold for all
    comparisons at once, and the rival that does best on these very documents may be picked from among them.

    Of a method that differs in too few documents to be tested, p is 1 and the ends of the interval are NaN.

    differences: [D, C]; rows are documents with unique ids.
    """
    changes = paired_changes(differences, ids, seed=seed, resamplings=resamplings)
    critical = np.quantile(changes.largest, CONFIDENCE, method="higher")
    width = np.where(differences.any(0), critical * changes.error, 0.0)  # of equal methods the lead is surely 0
    return replace(changes, low=changes.mean - width, high=changes.mean + width)
