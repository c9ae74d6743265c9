"""Many tests at once: p-values that hold for all of them together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headatlas.statistics.resampling import permutation_p_value

Floats = NDArray[np.float64]


def step_down(observed: Sequence[float], permuted: Sequence[Floats]) -> list[float]:
    """The p-value of each test, corrected for all tests (the step-down maximum method of Westfall and Young 1993).

    Like Holm's method it controls the chance of any false positive and steps from the largest statistic down. Unlike
    Holm's, which multiplies p-values that cannot be below 1 / (1 + permutations), it does not ask for more permutations
    the more tests there are, and it makes use of their correlation.

    observed: the statistic of each test, NaN if it was not made. permuted: its statistics under the null, [P] each, in
    the same permutations for all tests.
    """
    corrected = [np.nan] * len(observed)
    tests = sorted(
        (test for test, value in enumerate(observed) if not np.isnan(value)), key=lambda test: observed[test]
    )
    largest = np.full(len(permuted[0]) if len(permuted) else 0, -np.inf)
    for test in tests:  # from the smallest statistic up: the maximum is over those that are not larger
        largest = np.maximum(largest, permuted[test])
        corrected[test] = permutation_p_value(observed[test], largest)
    for smaller, larger in zip(tests[-2::-1], tests[:0:-1], strict=True):
        corrected[smaller] = max(corrected[smaller], corrected[larger])
    return corrected
