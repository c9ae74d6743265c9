"""What a tally says about one category: the best candidate, how sure that is, and whether it beats the baselines.

The best of hundreds of candidates looks better than it is, since it was chosen for its luck too. Two answers:

- *held out*: the best candidate on one half of the documents is scored on the other half, and the other way round;
  both scores are pooled. The two halves may choose different candidates: what is estimated is the choosing.
- *p value*: the null hypothesis is that no candidate is better than the baseline, in the sense that whichever of the
  two was right more often in a document was so by chance, independently for each. Then the sign of a document's
  difference can be flipped, for all candidates alike. A candidate's statistic is its lead over the baseline, in
  instances right, divided by the standard deviation of that lead under the flips; undivided, the worst candidates,
  which differ most from the baseline, would drown the others in noise. The best candidate's statistic is compared with
  the largest of any candidate in each permutation, so that the choice is part of the test (the single-step maximum
  method of Westfall and Young 1993). The best baseline is the one best on the whole corpus, which favours it.

Intervals are bootstrap percentiles of right / count, for a candidate given beforehand: they do not account for its
having been chosen. A candidate that is always right in a sample is so in every resample, which would make its interval
a point. So each replicate draws, beside the units, two instances about which every candidate is right and two about
which every one is wrong: what Agresti and Coull (1998, "Approximate is better than exact") add to a share for the same
reason. Replicates in which the category does not occur say nothing and are not counted. Of candidates (or baselines)
right equally often the first is the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.statistics.resampling import effective_units, percentile_interval, permutation_p_value, poisson_weights

Integers = NDArray[np.int64] | NDArray[np.int32]
ADDED = 2  # instances that all are right about, and as many that none is, in every replicate
AT_ONCE = 1024  # candidates whose replicates or permutations are held as floats together


@dataclass(frozen=True)
class Scores:
    """Sums over the instances of a category; columns are candidates, then baselines, then the count."""

    folds: Integers  # [2, columns]
    replicates: Integers  # [replicates, columns]
    flipped: Integers  # [permutations, columns]
    candidates: int

    @cached_property
    def count(self) -> int:
        """Instances."""
        return int(self.folds[:, -1].sum())

    @cached_property
    def right(self) -> Integers:
        """How often each candidate is right: [candidates]."""
        return np.asarray(self._of_candidates(self.folds).sum(0))

    @cached_property
    def baselines_right(self) -> Integers:
        """How often each baseline is right: [baselines]."""
        return np.asarray(self._of_baselines(self.folds).sum(0))

    @property
    def best(self) -> int:
        """The candidate most often right."""
        return int(self.right.argmax())

    @property
    def best_baseline(self) -> int:
        """The baseline most often right."""
        return int(self.baselines_right.argmax())

    def accuracy(self, right: int) -> float:
        """A share of the instances; NaN where there are none."""
        return right / self.count if self.count else math.nan

    def held_out(self) -> float:
        """Accuracy of the candidate chosen on the other half of the documents; NaN where a half has no instance."""
        return self._cross_fitted(self._of_candidates(self.folds))

    def baseline_held_out(self) -> float:
        """The same for the baselines."""
        return self._cross_fitted(self._of_baselines(self.folds))

    @property
    def drawn(self) -> NDArray[np.float64]:
        """Every candidate's accuracy in every replicate: [replicates, candidates]; NaN where there is no instance."""
        return self._shares(self._of_candidates(self.replicates))

    @cached_property
    def baselines_drawn(self) -> NDArray[np.float64]:
        """The same of the baselines: [replicates, baselines]."""
        return self._shares(self._of_baselines(self.replicates))

    @cached_property
    def intervals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """95 % intervals of every candidate's accuracy: low and high, each [candidates]."""
        low, high = np.empty(self.candidates), np.empty(self.candidates)
        for block in self._blocks():
            low[block], high[block] = self._around(self.right[block], self._shares(self.replicates[:, block]))
        return low, high

    def drawn_of(self, candidate: int) -> NDArray[np.float64]:
        """The accuracy of one candidate in every replicate: [replicates, 1]."""
        return self._shares(self.replicates[:, [candidate]])

    def interval(self, candidate: int) -> tuple[float, float]:
        """The 95 % interval of one candidate alone: low and high."""
        low, high = self._around(self.right[[candidate]], self.drawn_of(candidate))
        return low.item(), high.item()

    def table(self) -> dict[str, Any]:
        """The columns of a table that says how often each candidate is right."""
        low, high = self.intervals
        share = self.right / self.count
        return {"correct": self.right, "count": self.count, "accuracy": share, "low": low, "high": high}

    @cached_property
    def baseline_intervals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """95 % intervals of every baseline's accuracy: low and high, each [baselines]."""
        return self._around(self.baselines_right, self.baselines_drawn)

    def p_value(self, baseline: int | None = None) -> float:
        """Of the best candidate's lead over a baseline, by default the best one."""
        observed, largest = self.lead_test(baseline)
        return permutation_p_value(observed, largest) if self.count else math.nan

    def lead_test(self, baseline: int | None = None) -> tuple[float, NDArray[np.float64]]:
        """The statistic of that test, NaN without instances, and the largest of any candidate in each permutation."""
        baseline = self.best_baseline if baseline is None else baseline
        rival = self._of_baselines(self.flipped)[:, baseline, None]
        observed = self.right - self.baselines_right[baseline]
        statistic, largest = math.nan, np.full(len(self.flipped), -np.inf)
        for block in self._blocks():
            permuted = (self.flipped[:, block] - rival).astype(np.float64)  # [permutations, AT_ONCE]
            squares = np.einsum("pc,pc->c", permuted, permuted) + np.square(observed[block], dtype=np.float64)
            spread = np.sqrt(squares / (1 + len(permuted)))
            spread[spread == 0] = np.inf  # right exactly when the baseline is: no lead in any permutation
            permuted /= spread
            np.maximum(largest, permuted.max(1), out=largest)
            if self.count and block.start <= self.best < block.stop:
                statistic = float((observed[block] / spread)[self.best - block.start])
        return statistic, largest

    def _blocks(self) -> Iterator[slice]:
        """The candidates, some at a time."""
        for first in range(0, self.candidates, AT_ONCE):
            yield slice(first, min(first + AT_ONCE, self.candidates))

    def _around(self, right: Integers, drawn: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """95 % intervals of accuracies, which hold them: the added instances alone could move one past its end."""
        low, high = percentile_interval(drawn, effective_units(self.replicates[:, -1].astype(np.float64)))
        share = right / (self.count or math.nan)
        return np.minimum(low, share), np.maximum(high, share)

    def _shares(self, right: Integers) -> NDArray[np.float64]:
        count = self.replicates[:, -1:]
        names = [f"{outcome} {number}" for outcome in ("right", "wrong") for number in range(ADDED)]
        added = poisson_weights(names, len(right), 0).T.astype(np.int64)  # [replicates, 2 * ADDED]
        right, every = right + added[:, :ADDED].sum(1, keepdims=True), count + added.sum(1, keepdims=True)
        return right / np.where(count > 0, every, np.nan)

    def _of_candidates(self, sums: Integers) -> Integers:
        return sums[:, : self.candidates]

    def _of_baselines(self, sums: Integers) -> Integers:
        return sums[:, self.candidates : -1]

    def _cross_fitted(self, sums: Integers) -> float:
        if not self.folds[:, -1].all():
            return math.nan
        first, second = sums
        return self.accuracy(int(second[first.argmax()] + first[second.argmax()]))
