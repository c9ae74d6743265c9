"""Randomness that belongs to a unit of the corpus and not to the run: bootstrap weights, signs and folds.

A unit is a sentence or a document, named by its id. What is drawn for it depends on its id and the seed alone: not on
the batch it came with, the order of reading, or the machine. So sums over units, taken apart and added, are the sums
of one run to the last digit.

The bootstrap draws units with replacement. Its Poisson form gives each unit an independent weight from the Poisson
distribution of mean 1, which needs no corpus size beforehand (Chamandy et al. 2012, "Estimating uncertainty for
massive data streams"). The bytes come from SHAKE-128 of seed, purpose and id: two for each weight, looked up in the
distribution rounded to 1/65536 (weights 0 to 8), and one bit for each sign.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LARGEST_WEIGHT = 8
CONFIDENCE = 0.95

_STEPS = 1 << 16


def _poisson_table() -> NDArray[np.uint8]:
    """The weight for each of 65,536 equally likely numbers."""
    shares = [math.exp(-1) / math.factorial(weight) for weight in range(LARGEST_WEIGHT)]
    ends = np.rint(np.cumsum(shares) * _STEPS)
    return np.searchsorted(ends, np.arange(_STEPS), side="right").astype(np.uint8)


_POISSON = _poisson_table()


def poisson_weights(ids: Sequence[str], replicates: int, seed: int) -> NDArray[np.uint8]:
    """Bootstrap weights of each unit: [S, replicates]."""
    drawn = b"".join(_bytes(seed, "bootstrap", name, 2 * replicates) for name in ids)
    return np.take(_POISSON, np.frombuffer(drawn, dtype="<u2").reshape(len(ids), replicates))


def signs(ids: Sequence[str], permutations: int, seed: int) -> NDArray[np.int8]:
    """A sign, +1 or -1, of each unit in each permutation: [S, permutations]."""
    size = -(-permutations // 8)
    drawn = b"".join(_bytes(seed, "sign", name, size) for name in ids)
    bits = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8).reshape(len(ids), size), axis=1, count=permutations)
    return 1 - 2 * bits.view(np.int8)


def fold_of(document: str, seed: int) -> int:
    """The half of the corpus, 0 or 1, that a document belongs to."""
    return _bytes(seed, "fold", document, 1)[0] & 1


def percentile_interval(replicates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middle 95 % of bootstrap values: low and high, each [...]. replicates: [R, ...]; NaN where there are none.

    A replicate that is NaN, because nothing that counts was drawn, is passed over.
    """
    columns = replicates.reshape(len(replicates), math.prod(replicates.shape[1:]))
    tails = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    ends = np.full((2, columns.shape[1]), np.nan)
    missing = np.isnan(columns).sum(0)
    whole, partial = missing == 0, (missing > 0) & (missing < len(columns))
    if len(columns):
        ends[:, whole] = np.quantile(columns[:, whole], tails, axis=0)
        ends[:, partial] = np.nanquantile(columns[:, partial], tails, axis=0)
    low, high = ends.reshape(2, *replicates.shape[1:])
    return low, high


def permutation_p_value(observed: float, permuted: NDArray[np.float64]) -> float:
    """The share of statistics under the null at least as large as the observed one, which counts among them."""
    return float((1 + np.sum(permuted >= observed)) / (1 + len(permuted))) if len(permuted) else math.nan


def _bytes(seed: int, purpose: str, name: str, size: int) -> bytes:
    return hashlib.shake_128(f"{seed} {purpose} {name}".encode()).digest(size)
