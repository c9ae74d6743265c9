"""Shares of examples in a score that is no mean, such as BLEU, which is computed from counts summed over a corpus.

The share of an example is a value of its own whose mean over examples is the score and whose variance is that of the
jackknife (pseudo-values, centred; Efron and Tibshirani 1993, chapter 11). So what is written for means holds: changes
are tested, and intervals drawn, by resampling examples.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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


def ratio_shares(sums: Floats, counts: Floats) -> Floats:
    """Divide the mean of all instances among units that hold several: sums, counts [U] -> [U].

    The linear part of the jackknife of a ratio: the mean of the shares is sum(sums) / sum(counts), and a unit with many
    instances has the weight that it has in that mean.
    """
    mean = sums.sum() / counts.sum()
    shares: Floats = mean + (sums - mean * counts) * len(sums) / counts.sum()
    return shares
