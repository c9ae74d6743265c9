"""How often does the test of paired changes find something where there is nothing, and how often do its intervals hold?

    python -m benchmarks.calibration_paired

Each simulation draws changes whose mean is 0 for 72 conditions, and asks whether any of them is significant after
correction: the stated level should not be exceeded. Of the intervals, the share that holds 0 is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from headatlas.statistics.paired import paired_changes

Floats = NDArray[np.float64]
CONDITIONS = 72
SHARED = 0.5  # of the variance, between conditions that are correlated, or between the examples of one document
LEVELS = (0.05, 0.01)
NORMAL_90 = 1.6449  # the 95th percentile
IN_DOCUMENT = 10  # examples


class Calibration(NamedTuple):
    """One row: what is stated, in which setting, and what was measured."""

    what: str
    setting: str
    stated: float
    measured: float


CHANGES: dict[str, Callable[[Floats], Floats]] = {
    "normal": lambda normal: normal,
    "Student's t with 3 degrees of freedom": lambda normal: np.asarray(stdtrit(3, _share(normal))),
    "exponential": lambda normal: -np.log1p(-_share(normal)) - 1,
    "lognormal": lambda normal: np.exp(normal) - np.exp(0.5),
    "right or wrong, 10 % changed": lambda normal: np.sign(normal) * (np.abs(normal) > NORMAL_90),
}
"""How changes of mean 0 are distributed, made from standard normal numbers."""


def simulate_paired(
    simulations: int = 400,
    *,
    examples: Sequence[int] = (40, 300),
    changes: Sequence[str] = tuple(CHANGES),
    resamplings: int = 499,
    seed: int = 0,
) -> list[Calibration]:
    """Measure error rates and coverage for each distribution, size, and with or without correlation.

    Args:
        simulations: How many data sets to draw per setting.
        examples: Sizes of the data sets; the settings with documents have as many examples, ten to a document.
        changes: Names of `CHANGES`.
        resamplings: Bootstrap resamples of each test.
        seed: Makes the result reproducible.
    """
    rows = []
    for size in examples:
        for name in changes:
            for correlated in (False, True):
                setting = f"{name}, {size} examples, {'correlated' if correlated else 'independent'}"
                rows += _simulate(setting, name, size, correlated, None, simulations, resamplings, seed)
        if size >= 20 * IN_DOCUMENT and "exponential" in changes:
            documents = [str(number // IN_DOCUMENT) for number in range(size)]
            setting = f"exponential, {size} examples in {len(set(documents))} documents, independent"
            rows += _simulate(setting, "exponential", size, False, documents, simulations, resamplings, seed)
    return rows


def _simulate(
    setting: str,
    name: str,
    size: int,
    correlated: bool,
    documents: list[str] | None,
    simulations: int,
    resamplings: int,
    seed: int,
) -> list[Calibration]:
    rng = np.random.default_rng([seed, size, correlated, documents is not None, *map(ord, name)])
    ids = [str(number) for number in range(size)]
    smallest, covered = [], []
    for simulation in range(simulations):
        normal = rng.normal(size=(size, CONDITIONS))
        common = np.zeros_like(normal)
        if correlated:
            common = rng.normal(size=(size, 1))
        elif documents:
            common = np.repeat(rng.normal(size=(size // IN_DOCUMENT, CONDITIONS)), IN_DOCUMENT, axis=0)
        if correlated or documents:
            normal = np.sqrt(SHARED) * common + np.sqrt(1 - SHARED) * normal
        result = paired_changes(CHANGES[name](normal), ids, seed=simulation, resamplings=resamplings, units=documents)
        smallest.append(result.p_value.min())
        covered.append(((result.low <= 0) & (result.high >= 0)).mean())
    what = f"paired changes: any of {CONDITIONS} conditions significant"
    errors = [Calibration(what, setting, level, float(np.mean(np.array(smallest) <= level))) for level in LEVELS]
    return [
        *errors,
        Calibration("paired changes: 95 % interval holds the mean", setting, 0.95, float(np.mean(covered))),
    ]


def _share(normal: Floats) -> Floats:
    return np.asarray(np.clip(ndtr(normal), 1e-12, 1 - 1e-12))


if __name__ == "__main__":
    for row in simulate_paired():
        print(f"{row.what:60} {row.setting:70} {row.stated:.2f} {row.measured:.3f}", flush=True)
