"""When a published number or finding counts as reproduced.

A number is reproduced where ours lies within a tolerance of it, or where our 95 % interval contains it and is no wider
than 10 points, since that of a small corpus contains nearly anything. The tolerances:

- table 1 and the notebook: 2 points; tables 2 and 3, printed without decimals: 3 points;
- entropy: 0.15 nats; counts of heads: 1;
- which head is best, and the offset of a baseline: exactly the same.

A finding is a yes or no by the rule that its row states (see `findings`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import pandas as pd

Verdict = Literal["reproduced", "differs", "input missing"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "differs", "input missing")
Tables = Mapping[str, pd.DataFrame]
"""Those of the survey and of the probes, by name."""
Found = tuple[bool, str] | None
"""Whether a finding holds and the figures that decide; None where the tables have nothing to say."""

TOLERANCES = {"table 1": 2.0, "notebook": 2.0, "table 2": 3.0, "table 3": 3.0, "heads": 1.0, "nats": 0.15}
WIDEST_INTERVAL = 10.0  # points
_NAMES = {"%": "points", "nats": "nats", "heads": "head"}


@dataclass(frozen=True)
class Check:
    """One published number or finding beside ours: a row of the table `reproduction`."""

    place: str
    item: str
    unit: str
    published: str
    rule: str
    ours: str = ""
    published_value: float = math.nan
    our_value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    verdict: Verdict = "input missing"
    missing: str = ""

    def without(self, what: str) -> Check:
        """The same where an input is missing."""
        return replace(self, missing=what)

    def decided(self, holds: bool, ours: str) -> Check:
        """The same with a yes or no and what it rests on."""
        return replace(self, ours=ours, verdict="reproduced" if holds else "differs")

    def measured(self, ours: float, tolerance: float, low: float = math.nan, high: float = math.nan) -> Check:
        """The same with our number, its interval if it has one, and the verdict that follows."""
        near = abs(ours - self.published_value) <= tolerance + 1e-9
        inside = low <= self.published_value <= high and high - low <= WIDEST_INTERVAL
        found = replace(self, our_value=ours, low=low, high=high)
        decimals = {"%": 1, "nats": 2}.get(self.unit, 0)
        return found.decided(near or inside, f"{ours:.{decimals}f}")


def number(place: str, item: str, unit: str, value: float, tolerance: float, decimals: int = 0) -> Check:
    """A published number, yet without ours."""
    within = f"within {tolerance:g} {_NAMES.get(unit, unit)}" if tolerance else "the same"
    rule = f"{within}, or inside our interval" if unit == "%" else within
    return Check(place, item, unit, f"{value:.{decimals}f}", rule, published_value=value)


def table_of(checks: Sequence[Check]) -> pd.DataFrame:
    """The table `reproduction`, without words for what does not exist."""
    frame = pd.DataFrame([asdict(check) for check in checks])
    return frame.assign(difference=frame["our_value"] - frame["published_value"])
