"""Remove one head at a time: by how much does each task's score change? (Michel et al. 2019, section 3.2)

A change is that of the mean score over examples; its p value comes of a paired sign-flip test over examples, corrected
for all heads tried (see `statistics.paired`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from headatlas.commands.ablate.passes import Head
from headatlas.commands.ablate.task import Task
from headatlas.engine.pieces import Floats
from headatlas.statistics.paired import paired_changes


@dataclass(frozen=True)
class RemovedOne:
    """Scores of a task's examples with and without each of some heads."""

    heads: Sequence[Head]
    plain: Floats  # [E, measures]
    without: Floats  # [E, heads, measures]

    @property
    def harm(self) -> Floats:
        """By how much each example's first score falls without each head: [E, heads]."""
        harm: Floats = self.plain[:, None, 0] - self.without[:, :, 0]
        return harm


def ablation_table(task: Task, kind: str, found: RemovedOne, *, seed: int, resamplings: int) -> pd.DataFrame:
    """One row a measure and head: task, measure, kind, layer, head, score, change, low, high, p_value, count."""
    frames = []
    for place, measure in enumerate(task.measures):
        without = found.without[:, :, place]
        tested = paired_changes(without - found.plain[:, place, None], task.ids, seed=seed, resamplings=resamplings)
        frames.append(
            pd.DataFrame(
                {
                    "task": task.name,
                    "measure": measure,
                    "kind": kind,
                    "layer": [layer + 1 for layer, _ in found.heads],
                    "head": [head + 1 for _, head in found.heads],
                    "score": without.mean(0),
                    "change": tested.mean,
                    "low": tested.low,
                    "high": tested.high,
                    "p_value": tested.p_value,
                    "count": len(found.plain),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
