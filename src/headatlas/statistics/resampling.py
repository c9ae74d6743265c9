"""Randomness that belongs to a unit of the corpus and not to the run: bootstrap weights, signs and folds.

A unit is a sentence or a document, named by its id. What is drawn for it depends on its id and the seed alone: not on
the batch it came with, the order of reading, or the machine. So sums over units, taken apart and added, are the sums
of one run to the last digit.

The bootstrap draws units with replacement. Its Poisson form gives each unit an independent weight from the Poisson
distribution of mean 1, which needs no corpus size beforehand (Chamandy et al. 2012, "Estimating uncertainty for
massive data streams"). The bytes come from SHAKE-128 of seed, purpose and id: two for each weight, looked up in the
distribution rounded to 1/65536 (weights 0 to 8), and one bit for each sign.

Units of one document are alike, so documents are resampled where there are enough of them (`FEWEST_DOCUMENTS`). Even
then the percentiles of a bootstrap over few units lie too close together. Intervals therefore take percentiles further
out, by as much as Student's t with one degree of freedom less than there are units is wider than the normal
distribution (the expanded percentile interval of Hesterberg 2015, "What teachers should know about the bootstrap").
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtrit

from headatlas.progress import moved
from headatlas.statistics.kernels.threads import side_by_side

Floats = NDArray[np.float64]
LARGEST_WEIGHT = 8
CONFIDENCE = 0.95
FEWEST_DOCUMENTS = 20  # to resample documents; of a corpus with fewer, its inputs are resampled

AT_ONCE = 128  # estimates whose values are put in order together: they stay in the cache
FEW = 512  # estimates that are not worth a second thread

_STEPS = 1 << 16
_MANY = 1e12  # units in place of infinitely many


def _poisson_table() -> NDArray[np.uint8]:
    """The weight for each of 65,536 equally likely numbers."""
    shares = [math.exp(-1) / math.factorial(weight) for weight in range(LARGEST_WEIGHT)]
    ends = np.rint(np.cumsum(shares) * _STEPS)
    return np.searchsorted(ends, np.arange(_STEPS), side="right").astype(np.uint8)


_POISSON = _poisson_table()


def poisson_weights(ids: Sequence[str], replicates: int, seed: int) -> NDArray[np.uint8]:
    """Bootstrap weights of each unit: [S, replicates]."""
    moved()
    drawn = b"".join(_bytes(seed, "bootstrap", name, 2 * replicates) for name in ids)
    return np.take(_POISSON, np.frombuffer(drawn, dtype="<u2").reshape(len(ids), replicates))


def bootstrap_units(ids: Sequence[str]) -> list[str]:
    """What each input is resampled with: its document, or itself if there are few documents.

    ids: of inputs, each that of its document, a dot and the number of the input.
    """
    documents = [name.rpartition(".")[0] for name in ids]
    return documents if len(set(documents)) >= FEWEST_DOCUMENTS else list(ids)


def signs(ids: Sequence[str], permutations: int, seed: int) -> NDArray[np.int8]:
    """A sign, +1 or -1, of each unit in each permutation: [S, permutations]."""
    size = -(-permutations // 8)
    drawn = b"".join(_bytes(seed, "sign", name, size) for name in ids)
    bits = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8).reshape(len(ids), size), axis=1, count=permutations)
    return 1 - 2 * bits.view(np.int8)


def fold_of(document: str, seed: int) -> int:
    """The half of the corpus, 0 or 1, that a document belongs to."""
    return _bytes(seed, "fold", document, 1)[0] & 1


def percentile_interval(replicates: Floats, units: ArrayLike = math.inf) -> tuple[Floats, Floats]:
    """The 95 % interval from bootstrap values [R, ...]: low and high, each [...]; NaN where there are none.

    A replicate that is NaN, because nothing that counts was drawn, is passed over.

    units: how many units were resampled, one number or one for each of [...].
    """
    return ends_of(replicates, *spread_of(units))


def spread_of(units: ArrayLike) -> tuple[Floats, Floats]:
    """How far to trust the spread of a bootstrap over some units: by how much it is too small, and degrees of freedom.

    The spread is that of a sum of squares divided by the number of units and not by one less.
    """
    known = np.maximum(np.round(np.asarray(units, dtype=np.float64), 1), 2.0)
    finite = np.where(np.isfinite(known), known, _MANY)
    return np.sqrt(finite / (finite - 1)), finite - 1


def ends_of(replicates: Floats, widening: ArrayLike, freedom: ArrayLike) -> tuple[Floats, Floats]:
    """The 95 % interval from bootstrap values [R, ...], whose spread is too small by `widening`: low and high."""
    size = math.prod(replicates.shape[1:])
    if not len(replicates):
        return np.full(replicates.shape[1:], np.nan), np.full(replicates.shape[1:], np.nan)
    moved()
    tail = ndtr(-np.asarray(widening) * stdtrit(np.asarray(freedom, dtype=np.float64), (1 + CONFIDENCE) / 2))
    tails = np.broadcast_to(tail, replicates.shape[1:]).reshape(size)
    flat, ends = replicates.reshape(len(replicates), size), np.empty((2, size))

    def fill(first: int) -> None:
        block = slice(first, first + AT_ONCE)
        ordered = np.sort(flat[:, block], axis=0)  # NaN comes last
        last = np.maximum(len(ordered) - np.isnan(ordered).sum(0), 1) - 1
        columns = np.arange(len(last))
        for number, share in enumerate((tails[block], 1 - tails[block])):
            below = np.floor(share * last).astype(np.int64)
            at, after = ordered[below, columns], ordered[np.minimum(below + 1, last), columns]
            ends[number, block] = at + (share * last - below) * (after - at)

    blocks = range(0, size, AT_ONCE)
    if size > FEW:
        side_by_side(fill, blocks)
    else:
        for first in blocks:
            fill(first)
    low, high = ends.reshape(2, *replicates.shape[1:])
    return low, high


def effective_units(counts: Floats) -> Floats:
    """How many units of equal size would vary as much as these. counts: instances in each replicate, [R, ...] -> [...].

    The number of instances drawn has the mean of the instances and the variance of their squares summed over units. So
    one large unit among small ones counts for little more than itself.
    """
    if not len(counts):
        return np.full(counts.shape[1:], math.inf)
    mean, variance = counts.mean(0), counts.var(0)
    return np.asarray(np.where(variance > 0, np.square(mean) / np.where(variance > 0, variance, 1), math.inf))


def permutation_p_value(observed: float, permuted: Floats) -> float:
    """The share of statistics under the null at least as large as the observed one, which counts among them."""
    return float((1 + np.sum(permuted >= observed)) / (1 + len(permuted))) if len(permuted) else math.nan


def _bytes(seed: int, purpose: str, name: str, size: int) -> bytes:
    return hashlib.shake_128(f"{seed} {purpose} {name}".encode()).digest(size)


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
