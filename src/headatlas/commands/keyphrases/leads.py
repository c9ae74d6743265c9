"""By how much does one method score better than each of many others on the same documents?

The differences of a document's scores are resampled by document. Each difference is studentised, and the largest of
all in each resampling sets both the width of the intervals and the p values (the maximum method of Westfall and Young
1993). So intervals and p values hold for all comparisons at once, and the rival that does best on these very documents
may be picked from among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.statistics.resampling import CONFIDENCE, poisson_weights

Floats = NDArray[np.float64]
FEWEST = 2  # documents, of which a spread can be told


@dataclass(frozen=True)
class Leads:
    """Mean differences, each [C], with 95 % intervals and two-sided p values that hold for all C at once."""

    mean: Floats
    low: Floats
    high: Floats
    p_value: Floats


def simultaneous_leads(differences: Floats, ids: Sequence[str], *, seed: int, resamplings: int) -> Leads:
    """The means of differences [D, C]; rows are documents with unique ids. With one document, no interval or p."""
    mean = differences.mean(0)
    if len(ids) < FEWEST:
        missing = np.full_like(mean, np.nan)
        return Leads(mean, missing, missing, missing)
    weights = poisson_weights(ids, resamplings, seed).T.astype(np.float64)  # [R, D]
    weights = weights[(weights > 0).sum(1) >= FEWEST]
    totals = weights.sum(1, keepdims=True)
    drawn = weights @ differences / totals
    drawn_errors = _error(weights @ np.square(differences - mean) / totals - np.square(drawn - mean), totals)
    error = _error(differences.var(0), len(ids))
    largest = _studentise(drawn - mean, drawn_errors).max(1, initial=0.0)
    width = np.quantile(largest, CONFIDENCE, method="higher") * error
    as_large = (largest[:, None] >= _studentise(mean, error) * (1 - 1e-9)).sum(0)
    return Leads(mean, mean - width, mean + width, (1 + as_large) / (1 + len(largest)))


def _error(variance: Floats, count: float | Floats) -> Floats:
    """The standard error of a mean."""
    return np.asarray(np.sqrt(np.maximum(variance, 0.0) / (count - 1)))


def _studentise(change: Floats, error: Floats) -> Floats:
    """Size over standard error; 0 where nothing changes, infinite where a change has no spread."""
    unlike = np.abs(change) > 1e-12
    spread = np.where(error > 1e-12, error, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(unlike, np.abs(change) / spread, 0.0)
