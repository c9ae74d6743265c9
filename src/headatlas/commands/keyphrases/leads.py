"""By how much does one method score better than each of many others on the same documents?

The differences of a document's scores are tested as paired changes, corrected for their number. The same largest |t| of
each resample sets the width of the intervals. So intervals and p-values hold for all comparisons at once, and the rival
that does best on these very documents may be picked from among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.statistics.paired import paired_changes
from headatlas.statistics.resampling import CONFIDENCE

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Leads:
    """Mean differences, each [C], with 95 % intervals and two-sided p-values that hold for all C at once.

    Of a method that differs in too few documents to be tested, p is 1 and the ends of the interval are NaN.
    """

    mean: Floats
    low: Floats
    high: Floats
    p_value: Floats


def simultaneous_leads(differences: Floats, ids: Sequence[str], *, seed: int, resamplings: int) -> Leads:
    """The means of differences [D, C]; rows are documents with unique ids."""
    changes = paired_changes(differences, ids, seed=seed, resamplings=resamplings)
    critical = np.quantile(changes.largest, CONFIDENCE, method="higher")
    width = np.where(differences.any(0), critical * changes.error, 0.0)  # of equal methods the lead is surely 0
    return Leads(changes.mean, changes.mean - width, changes.mean + width, changes.p_value)
