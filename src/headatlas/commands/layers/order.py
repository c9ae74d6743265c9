"""Which task lies below which, and which needs fewer layers: every two tasks, beside the same with shuffled labels.

How far a mix moves from equal weights depends on how much it was trained, and any two mixes differ. So an order is
given only where both tasks were trained on as many targets with as many updates, both beat their majority answer, and
there are trainings enough to see how much they vary.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from headatlas.commands.layers.jobs import Drawn, spreads_of
from headatlas.results.folder import Rows
from headatlas.statistics.layer_measures import over_trainings, student
from headatlas.statistics.paired import holm

FEWEST_TRAININGS = 3  # to say how much a measure varies
SETTLED = 0.05  # p-value, two-sided, corrected over pairs

Summary = tuple[dict[str, Any], dict[str, Drawn]]
"""A row of `layer_summary`, and what its measures are compared by."""


def order_rows(summaries: Sequence[Summary]) -> Rows:
    """Compare every two tasks by each measure, the lower one first."""
    rows: Rows = []
    for mix in dict.fromkeys(row["mix"] for row, _ in summaries):
        of_mix = [summary for summary in summaries if summary[0]["mix"] == mix]
        for measure in of_mix[0][1]:
            pairs = [_compare(first, second, measure) for first, second in combinations(of_mix, 2)]
            corrected = {
                name: holm(np.array([row.get(name, np.nan) for row in pairs], dtype=np.float64))
                for name in ("p_value", "shuffled_p")
            }
            for row, p_holm, shuffled in zip(pairs, corrected["p_value"], corrected["shuffled_p"], strict=True):
                row["p_holm"] = float(p_holm)
                row["settled"] = bool(p_holm < SETTLED) and not shuffled < SETTLED
                row["shuffled_settled"] = bool(shuffled < SETTLED)
            rows += pairs
    return rows


def why_withheld(first: dict[str, Any], second: dict[str, Any]) -> str:
    """Why no order of two tasks is given; empty if it is."""
    for row in (first, second):
        if row["seeds"] < FEWEST_TRAININGS:
            return f"fewer than {FEWEST_TRAININGS} trainings"
        if not row["lead_low"] > 0:
            return f"{row['task']} does not beat its majority answer"
    for name, called in (("train_targets", "targets"), ("updates", "updates")):
        if first[name] != second[name]:
            return f"trained on {first[name]:,} and {second[name]:,} {called}"
    return ""


def _compare(first: Summary, second: Summary, measure: str) -> dict[str, Any]:
    (row, drawn), (other, drawn_of_other) = first, second
    if other[measure] < row[measure]:
        return _compare(second, first, measure)
    key = {"measure": measure, "mix": row["mix"], "below": row["task"], "above": other["task"]}
    key["withheld"] = why_withheld(row, other)
    if key["withheld"]:
        return key
    difference = other[measure] - row[measure]
    own, of_other = drawn[measure], drawn_of_other[measure]
    low, high, p_value = student(difference, *spreads_of(_paired(own, of_other)))
    compared = {"difference": difference, "low": float(low), "high": float(high), "p_value": float(p_value)}
    if own.shuffled:
        apart = np.subtract(of_other.shuffled, own.shuffled)
        low, high, p_value = student(apart.mean(), over_trainings(apart))
        compared |= {"shuffled_difference": float(apart.mean()), "shuffled_low": float(low)}
        compared |= {"shuffled_high": float(high), "shuffled_p": float(p_value)}
    return key | compared


def _paired(first: Drawn, second: Drawn) -> Drawn:
    """The differences, training by training and resampling by resampling."""
    texts = np.subtract(second.texts, first.texts).tolist()
    return Drawn(np.subtract(second.trainings, first.trainings).tolist(), texts, min(first.units, second.units), [])
