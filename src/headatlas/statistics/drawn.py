"""Estimates by their bootstrap values: intervals, differences, and tests of whether any of many estimates is 0.

The values of a bootstrap over few units spread too little, and Student's t says by how much (`resampling.spread_of`).
Of a difference between two samples, the degrees of freedom are those of Welch and Satterthwaite.

A test takes the estimate divided by its standard error, and the p-value of Student's t. Of many estimates some are
large by chance. `adjusted` gives the chance that the largest of all would be as far from 0 as this one if all were 0
(the single-step maximum method of Westfall and Young 1993). What the estimates have in common is taken from the
replicates: in each, the deviations from the mean over replicates, in standard deviations, and the largest of them. So
that few units cost here what they cost a single test, the statistic of Student's t is first turned into the normal one
with the same p-value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtr

from headatlas.statistics.resampling import ends_of, spread_of

Floats = NDArray[np.float64]
AT_ONCE = 1024  # estimates whose deviations are held in memory together


@dataclass(frozen=True)
class Drawn:
    """Bootstrap values of N estimates.

    Attributes:
        replicates: The values, [R, N]; NaN where nothing that counts was drawn.
        widening: By how much the standard error is larger than the spread of the values, [N].
        freedom: The degrees of freedom of that standard error, [N].
    """

    replicates: Floats
    widening: Floats
    freedom: Floats

    @classmethod
    def over(cls, replicates: Floats, units: ArrayLike) -> Self:
        """Values from resampling some units, one number or one for each estimate."""
        widening, freedom = (np.broadcast_to(part, replicates.shape[1:]) for part in spread_of(units))
        return cls(replicates, widening, freedom)

    def minus(self, other: Self, *, paired: bool) -> Self:
        """Of the differences of two estimates, as many replicates as both have.

        Paired, replicate r of both weights the same units alike. Else they are taken in opposite order, so that the
        same random numbers never meet.
        """
        size = min(len(self.replicates), len(other.replicates))
        a, b = self.replicates[:size], other.replicates[:size]
        if paired:
            widening, freedom = np.maximum(self.widening, other.widening), np.minimum(self.freedom, other.freedom)
            return type(self)(a - b, widening, freedom)
        squares = [np.square(_spread(drawn)) for drawn in (a, b)]
        errors = [square * np.square(side.widening) for square, side in zip(squares, (self, other), strict=True)]
        drawn, total = sum(squares), sum(errors)
        scattered = np.asarray(drawn > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            widening = np.sqrt(total / drawn)
            share_a, share_b = (error / total for error in errors)  # first: a square of tiny errors would be 0
            freedom = 1 / (np.square(share_a) / self.freedom + np.square(share_b) / other.freedom)
        least = np.minimum(self.freedom, other.freedom)
        return type(self)(a - b[::-1], np.where(scattered, widening, 1.0), np.where(scattered, freedom, least))

    def interval(self) -> tuple[Floats, Floats]:
        """95 % intervals: low and high, each [N]; NaN where there are no values."""
        return ends_of(self.replicates, self.widening, self.freedom)

    def p_values(self, estimates: Floats) -> Floats:
        """Two-sided, of the null that an estimate is 0: [N]; NaN where there are no values. estimates: [N]."""
        error = _spread(self.replicates) * self.widening
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where((error == 0) & (estimates == 0), 0.0, np.abs(estimates) / error)
        return np.asarray(2 * stdtr(self.freedom, -ratio))

    def adjusted(self, estimates: Floats) -> Floats:
        """The same, corrected for all N by the largest deviation of any in each replicate."""
        single = self.p_values(estimates)
        largest = np.zeros(len(self.replicates))
        for deviations in self._deviations():
            largest = np.fmax(largest, np.nanmax(np.abs(deviations), axis=1, initial=0))
        ordered = np.sort(largest)
        as_large = len(ordered) - np.searchsorted(ordered, -ndtri(single / 2), side="left")
        return np.where(np.isnan(single), np.nan, np.maximum((1 + as_large) / (1 + len(ordered)), single))

    def _deviations(self) -> Iterator[Floats]:
        """Deviations from the mean in standard deviations, some estimates at a time: [R, n]."""
        for first in range(0, self.replicates.shape[1], AT_ONCE):
            part = self.replicates[:, first : first + AT_ONCE]
            part = part[:, _spread(part) > 0]
            if part.shape[1]:
                yield (part - np.nanmean(part, axis=0)) / _spread(part)


def _spread(replicates: Floats) -> Floats:
    """Standard deviation over replicates, [N]; NaN where there are none."""
    spread = np.empty(replicates.shape[1:])
    for first in range(0, replicates.shape[1], AT_ONCE):
        part = replicates[:, first : first + AT_ONCE]
        known = ~np.isnan(part)
        count = known.sum(0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(known, part, 0).sum(0) / count
            spread[first : first + AT_ONCE] = np.sqrt(np.where(known, np.square(part - mean), 0).sum(0) / count)
    return spread
