"""How far apart are the two ends of a link? Kept as counts of every length, so that parts of a corpus add up."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headatlas.tables import Value

LONGEST = 511  # words; longer links count as this long
SIZE = LONGEST + 1
LENGTHS = (
    Value("mean", "mean distance of the two words, 1 for neighbours", "number"),
    Value("lower_quartile", "a quarter of the links are at most this long", "place"),
    Value("median", "half of the links are at most this long", "place"),
    Value("upper_quartile", "three quarters of the links are at most this long", "place"),
    Value("count", "links", "count"),
)


def describe_lengths(counts: NDArray[np.integer]) -> dict[str, float | int]:
    """The values of LENGTHS from how many links have each length: [SIZE], at least one link.

    >>> describe_lengths(np.bincount([1, 1, 2, 8], minlength=SIZE))
    {'mean': 3.0, 'lower_quartile': 1, 'median': 1, 'upper_quartile': 2, 'count': 4}
    """
    number = int(counts.sum())
    up_to = np.cumsum(counts)
    quartiles = [int(np.searchsorted(up_to, math.ceil(number * share))) for share in (0.25, 0.5, 0.75)]
    names = ("lower_quartile", "median", "upper_quartile")
    mean = float(counts @ np.arange(len(counts))) / number
    return {"mean": mean, **dict(zip(names, quartiles, strict=True)), "count": number}
