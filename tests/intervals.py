"""The 95 % interval of bootstrap values over a stated number of units, written out with scipy's distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t


def expected_interval(values: Sequence[object], units: float) -> NDArray[np.float64]:
    """Percentiles of values [R, ...] as far out as Student's t demands for so few units: low and high, [2, ...]."""
    size = max(round(units, 1), 2.0)
    tail = norm.cdf(-t(size - 1).ppf(0.975) * (size / (size - 1)) ** 0.5)
    return np.quantile(np.asarray(values, dtype=float), [tail, 1 - tail], axis=0)


def units_like(counts: Sequence[float]) -> float:
    """How many units of equal size would make the numbers of instances in replicates vary as much."""
    mean = sum(counts) / len(counts)
    return mean**2 / (sum((count - mean) ** 2 for count in counts) / len(counts))
