"""One line of the table that says what is stated and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GOAL = 0.92  # least coverage of an interval that is called 95 %
MOST_ERRORS = 1.6  # times the stated level: more than that is not the chance of a few hundred runs
LEVELS = (0.05, 0.01)


@dataclass(frozen=True)
class Row:
    """One line of the table: stated is a coverage (.95) or a level (.05, .01).

    warned: the documentation says that this does not hold, since the corpus lacks what would be needed.
    """

    what: str
    setting: str
    stated: float
    measured: float
    runs: int
    warned: bool = False

    @property
    def holds(self) -> bool:
        """Whether the statement is kept, as far as this many runs can say."""
        if self.warned:
            return True
        if self.stated > 0.5:
            return self.measured >= GOAL
        return bool(self.measured <= MOST_ERRORS * self.stated + 2 * np.sqrt(self.stated / self.runs))


def error_rows(what: str, setting: str, p_values: Sequence[float] | NDArray[np.float64]) -> list[Row]:
    """How often p is at most each level. p_values: one per run, the smallest of a family."""
    found = np.asarray(p_values)
    return [Row(what, setting, level, float(np.mean(found <= level)), len(found)) for level in LEVELS]


def markdown(rows: Sequence[Row]) -> str:
    """The table of the documentation."""
    lines = ["| what | setting | stated | measured | runs | holds |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [
        f"| {row.what} | {row.setting} | {row.stated:.2f} | {row.measured:.3f} | {row.runs:,} | "
        f"{'warned' if row.warned else 'yes' if row.holds else '**no**'} |"
        for row in rows
    ]
    return "\n".join(lines)
