"""Removing more and more heads: how does the score fall? (Michel et al. 2019, section 4)

Orders: ``importance`` removes heads from the least to the most important, ``remove_one`` from the one whose removal
alone harms least to the one that harms most, ``random`` in several random orders, and ``most_important_first`` the
other way round, which shows how much worse it could be. The first two and the last are chosen on one half of the
examples and scored on the other, both ways: no example is scored with an order that it helped to choose.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.commands.ablate.importance import halves_of
from headatlas.commands.ablate.passes import Advance, Head, Keep, gated_scores, make_anew
from headatlas.commands.ablate.replacement import Replacement
from headatlas.commands.ablate.task import Task
from headatlas.engine.pieces import Arrays, Floats
from headatlas.models.gates import all_open
from headatlas.models.stacks import HeadShape, Stack
from headatlas.statistics.paired import bootstrap_means

Order = Sequence[Head]


def ranked(values: Floats, heads: Sequence[Head]) -> Order:
    """Heads by value, smallest first; of equals the first. values: [heads]."""
    return [heads[place] for place in np.argsort(values, kind="stable")]


def cross_fitted(values: Floats, half: NDArray[np.int64], heads: Sequence[Head]) -> tuple[Order, Order]:
    """For each half of the examples, the order that the other half's mean values give. values: [E, heads].

    Where one half is empty, both get the order of all.
    """
    both = [values[half == other] for other in (1, 0)]
    first, second = (ranked(part.mean(0) if len(part) else values.mean(0), heads) for part in both)
    return first, second


def shares_of(steps: int, heads: int) -> list[int]:
    """How many heads are gone after each step, from none to all."""
    return [round(step * heads / steps) for step in range(steps + 1)]


class RemovalCurves:
    """Scores a task with growing sets of heads removed."""

    def __init__(
        self,
        task: Task,
        stack: Stack,
        replacement: Replacement,
        *,
        steps: int,
        seed: int,
        resamplings: int,
        keep: Keep = make_anew,
    ) -> None:
        self._task, self._stack, self._replacement = task, stack, replacement
        self._steps, self._seed, self._resamplings = steps, seed, resamplings
        self._shape: HeadShape = task.model.shapes[stack]
        self._half, self._keep = halves_of(task, seed), keep
        self._frames: list[pd.DataFrame] = []

    @property
    def heads(self) -> list[Head]:
        """All heads, in order."""
        return self._shape.places

    def add(self, name: str, orders: tuple[Order, Order], plain: Floats, advance: Advance | None = None) -> None:
        """A curve whose order each half of the examples has from the other; plain: [E, measures]."""
        for gone in shares_of(self._steps, self._shape.total):
            scores = self._scores(name, orders, gone, advance) if gone else plain
            low, high = bootstrap_means(scores, self._task.ids, seed=self._seed, resamplings=self._resamplings)
            self._note(name, gone, scores.mean(0), low, high)

    def add_random(self, orders: int, plain: Floats, advance: Advance | None = None) -> None:
        """The mean of several random orders; low and high are the lowest and the highest of them."""
        dice = np.random.default_rng([self._seed, 7])
        drawn = [[self.heads[place] for place in dice.permutation(self._shape.total)] for _ in range(orders)]
        for gone in shares_of(self._steps, self._shape.total):
            if gone in (0, self._shape.total):  # every order removes the same
                each = [(self._scores("random", (drawn[0], drawn[0]), gone, advance) if gone else plain).mean(0)]
            else:
                each = [
                    self._scores(f"random-{number}", (order, order), gone, advance).mean(0)
                    for number, order in enumerate(drawn)
                ]
            self._note("random", gone, np.mean(each, 0), np.min(each, 0), np.max(each, 0))

    def table(self) -> pd.DataFrame:
        """task, measure, order, share, heads_removed, score, low, high, count."""
        return pd.concat(self._frames, ignore_index=True)

    def _scores(self, name: str, orders: tuple[Order, Order], gone: int, advance: Advance | None) -> Floats:
        """[E, measures]; a piece to keep is one point of a curve."""

        def make() -> Arrays:
            gates = torch.stack([self._gates(order[:gone]) for order in orders])  # [2, L, H]
            sizes = [len(batch) for batch in self._task.batches]
            halves = torch.split(torch.from_numpy(self._half).to(gates.device), sizes)
            of_batches = [gates[half] for half in halves]
            return {"scores": gated_scores(self._task, of_batches, self._stack, self._replacement)}

        scores = self._keep(f"curve-{name}-{gone:05}", make)["scores"]
        if advance:
            advance(sum(batch.size for batch in self._task.batches))
        return scores

    def _gates(self, removed: Sequence[Head]) -> Tensor:
        gates = all_open(self._shape, self._task.model.device)
        for layer, head in removed:
            gates[layer, head] = 0
        return gates

    def _note(self, order: str, gone: int, score: Floats, low: Floats, high: Floats) -> None:
        frame = {
            "task": self._task.name,
            "measure": list(self._task.measures),
            "order": order,
            "share": gone / self._shape.total,
            "heads_removed": gone,
            "score": score,
            "low": low,
            "high": high,
            "count": len(self._half),
        }
        self._frames.append(pd.DataFrame(frame))
