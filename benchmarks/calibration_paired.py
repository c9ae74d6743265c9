"""How often does the test of paired changes find something where there is nothing, and how often do its intervals hold?

Each simulation draws changes whose mean is 0, and asks whether any condition is significant after correction: the
stated level should not be exceeded. Of the intervals, the share that holds 0 is counted. *Few changed* are conditions
such as the heads of a translation model: each changes a tenth to nine tenths of the texts, on a scale of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from benchmarks.calibration_row import Row, error_rows
from headatlas.statistics.paired import paired_changes

Floats = NDArray[np.float64]
SHARED = 0.5  # of the variance, between conditions that are correlated, or between the examples of one document
NORMAL_90 = 1.6449  # the 95th percentile
IN_DOCUMENT = 10  # examples
CHANGES: dict[str, Callable[[Floats], Floats]] = {
    "normal": lambda normal: normal,
    "Student's t with 3 degrees of freedom": lambda normal: np.asarray(stdtrit(3, _share(normal))),
    "exponential": lambda normal: -np.log1p(-_share(normal)) - 1,
    "lognormal": lambda normal: np.exp(normal) - np.exp(0.5),
    "right or wrong, 10 % changed": lambda normal: np.sign(normal) * (np.abs(normal) > NORMAL_90),
}
"""How changes of mean 0 are distributed, made from standard normal numbers."""


@dataclass(frozen=True)
class Setting:
    """What is drawn: examples and conditions, the distribution, and what they have in common."""

    changes: str
    examples: int
    conditions: int = 72
    correlated: bool = False
    in_documents: bool = False
    few_changed: bool = False

    @property
    def too_skewed(self) -> bool:
        """Whether the documentation says that intervals are too narrow: a sample this small lacks the rare changes."""
        return self.examples < {"lognormal": 300, "exponential": 100 if self.few_changed else 0}.get(self.changes, 0)

    def __str__(self) -> str:
        size = f"{self.examples} examples"
        if self.in_documents:
            size += f" in {self.examples // IN_DOCUMENT} documents"
        further = [name for name in ("correlated", "few_changed") if getattr(self, name)]
        return ", ".join([self.changes, size, *further]).replace("_", " ")


SETTINGS = (
    *(Setting(name, examples) for examples in (40, 300) for name in CHANGES),
    *(Setting("exponential", examples, correlated=True) for examples in (40, 300)),
    Setting("exponential", 300, in_documents=True),
    *(
        Setting(name, examples, conditions=144, few_changed=True)
        for examples in (32, 64, 128)
        for name in ("normal", "exponential", "lognormal")
    ),
)


def paired_rows(simulations: int) -> Iterator[Row]:
    """Rows of the table."""
    for setting in SETTINGS:
        yield from simulate_paired(setting, simulations)


def simulate_paired(setting: Setting, simulations: int, *, resamplings: int = 499, seed: int = 0) -> list[Row]:
    """Measure error rates and coverage in a setting.

    Args:
        setting: What to draw.
        simulations: How many data sets to draw.
        resamplings: Bootstrap resamples of each test.
        seed: Makes the result reproducible.
    """
    size, shape = setting.examples, (setting.examples, setting.conditions)
    rng = np.random.default_rng([seed, size, setting.conditions, setting.correlated, *map(ord, setting.changes)])
    ids = [str(number) for number in range(size)]
    documents = [str(number // IN_DOCUMENT) for number in range(size)] if setting.in_documents else None
    smallest, covered = [], []
    for simulation in range(simulations):
        normal = rng.normal(size=shape)
        if setting.correlated or setting.few_changed:
            normal = _mixed(rng.normal(size=(size, 1)), normal)
        elif documents:
            normal = _mixed(np.repeat(rng.normal(size=(size // IN_DOCUMENT, shape[1])), IN_DOCUMENT, axis=0), normal)
        changes = CHANGES[setting.changes](normal)
        if setting.few_changed:
            scale = np.exp(0.7 * rng.normal(size=shape[1])) * rng.choice([-1, 1], size=shape[1])
            changes = changes * scale * (rng.random(shape) < rng.uniform(0.1, 0.9, size=shape[1]))
        result = paired_changes(changes, ids, seed=simulation, resamplings=resamplings, units=documents)
        smallest.append(result.p_value.min())
        covered.append(((result.low <= 0) & (result.high >= 0)).mean())
    held = Row("`ablate`: change", str(setting), 0.95, float(np.mean(covered)), simulations, warned=setting.too_skewed)
    what = f"`ablate`: any of {setting.conditions} heads significant"
    return [*error_rows(what, str(setting), smallest), held]


def _mixed(common: Floats, own: Floats) -> Floats:
    return np.asarray(np.sqrt(SHARED) * common + np.sqrt(1 - SHARED) * own)


def _share(normal: Floats) -> Floats:
    return np.asarray(np.clip(ndtr(normal), 1e-12, 1 - 1e-12))
