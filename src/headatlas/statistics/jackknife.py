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
