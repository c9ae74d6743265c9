"""More and more heads removed (Michel et al. 2019, section 4), in several orders.

``importance`` removes heads from the least to the most important, ``remove_one`` from the one that harms least when
removed alone to the one that harms most, ``random`` in several random orders, and ``most_important_first`` the other
way round, which shows how much worse it could be. All but the random orders are chosen on one half of the data and
scored on the other, both ways: no example is scored with an order that it helped to choose.

How many heads can be removed is where a curve first falls by `tolerance` times what all heads together add to the
score, which is its fall from the first point of the curve to the last; between two points the curve is a line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.commands.ablate.importance import halves_of
from headatlas.commands.ablate.passes import Floats, HeadPlace, Replacement, gated_scores
from headatlas.commands.ablate.task import Task
from headatlas.engine.run_folder import UNSAVED, Arrays, RunPart
from headatlas.models.gates import all_open
from headatlas.models.stacks import HeadShape, Stack
from headatlas.progress import Stage
from headatlas.statistics.paired import bootstrap_means, resampled_means
from headatlas.statistics.resampling import percentile_interval

Order = Sequence[HeadPlace]
LEAST_FALLING = 0.975  # of resamples: in these the score must fall without any head, else no head is counted


def ranked(values: Floats, heads: Sequence[HeadPlace]) -> Order:
    """Heads by value, smallest first; of equals the first. values: [heads]."""
    return [heads[place] for place in np.argsort(values, kind="stable")]


def cross_fitted(values: Floats, half: NDArray[np.int64], heads: Sequence[HeadPlace]) -> tuple[Order, Order]:
    """For each half of the examples, the order that the other half's mean values give. values: [E, heads].

    Where one half is empty, both get the order of all.
    """
    both = [values[half == other] for other in (1, 0)]
    first, second = (ranked(part.mean(0) if len(part) else values.mean(0), heads) for part in both)
    return first, second


def shares_of(steps: int, heads: int) -> list[int]:
    """How many heads are removed after each step, from none to all."""
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
        tolerance: float,
        pieces: RunPart = UNSAVED,
        bar: Stage | None = None,
    ) -> None:
        self._task, self._stack, self._replacement = task, stack, replacement
        self._steps, self._seed = steps, seed
        self._drawing = {"seed": seed, "resamplings": resamplings}
        self._tolerance = tolerance
        self._shape: HeadShape = task.model.shapes[stack]
        self._half, self._pieces, self._bar = halves_of(task, seed), pieces, bar
        self._units = task.units
        self._frames: list[pd.DataFrame] = []
        self._removable: list[pd.DataFrame] = []

    @property
    def heads(self) -> list[HeadPlace]:
        """All heads, in order."""
        return self._shape.places

    def add(self, name: str, orders: tuple[Order, Order], plain: Floats) -> None:
        """A curve whose order each half of the examples has from the other; plain: [E, measures]."""
        curve = []
        for gone in self._shares:
            scores = self._scores(name, orders, gone) if gone else plain
            low, high = bootstrap_means(scores, self._task.ids, units=self._units.of_examples, **self._drawing)
            self._note(name, gone, scores.mean(0), low, high)
            curve.append(scores)
        points = np.stack(curve, 1)  # [E, points, measures]
        drawn = self._resampled(points.reshape(len(points), -1)).reshape(-1, *points.shape[1:])
        low, high = percentile_interval(self._count(drawn), self._units.count)
        self._note_removable(name, self._count(points.mean(0)[None])[0], low, high, plain - curve[-1])

    def add_random(self, orders: int, plain: Floats) -> None:
        """The mean of several random orders; low and high are the lowest and the highest of them."""
        rng = np.random.default_rng([self._seed, 7])
        drawn = [[self.heads[place] for place in rng.permutation(self._shape.total)] for _ in range(orders)]
        without = self._scores("random", (drawn[0], drawn[0]), self._shape.total)  # every order ends alike
        curves = []
        for gone in self._shares:
            if gone in (0, self._shape.total):
                each = [(without if gone else plain).mean(0)] * orders
            else:
                each = [
                    self._scores(f"random-{number}", (order, order), gone).mean(0) for number, order in enumerate(drawn)
                ]
            self._note("random", gone, np.mean(each, 0), np.min(each, 0), np.max(each, 0))
            curves.append(np.stack(each))
        counts = self._count(np.stack(curves, 1))  # [orders, measures]
        self._note_removable("random", counts.mean(0), counts.min(0), counts.max(0), plain - without)

    def table(self) -> pd.DataFrame:
        """task, measure, order, share, heads_removed, score, low, high, count."""
        return pd.concat(self._frames, ignore_index=True)

    def removable(self) -> pd.DataFrame:
        """task, measure, order, heads_removable, low, high, tolerance, heads."""
        return pd.concat(self._removable, ignore_index=True)

    @property
    def _shares(self) -> list[int]:
        return shares_of(self._steps, self._shape.total)

    def _scores(self, name: str, orders: tuple[Order, Order], gone: int) -> Floats:
        """[E, measures]; a piece is one point of a curve."""

        def make() -> Arrays:
            gates = torch.stack([self._gates(order[:gone]) for order in orders])  # [2, L, H]
            sizes = [len(batch) for batch in self._task.batches]
            halves = torch.split(torch.from_numpy(self._half).to(gates.device), sizes)
            of_batches = [gates[half] for half in halves]
            return {"scores": gated_scores(self._task, of_batches, self._stack, self._replacement)}

        scores = self._pieces.compute_once(f"curve-{name}-{gone:05}", make)["scores"]
        if self._bar:
            self._bar.advance(sum(batch.size for batch in self._task.batches))
        return self._task.pooled(scores)

    def _gates(self, removed: Sequence[HeadPlace]) -> Tensor:
        gates = all_open(self._shape, self._task.model.device)
        for layer, head in removed:
            gates[layer, head] = 0
        return gates

    def _note(self, order: str, gone: int, score: Floats, low: Floats, high: Floats) -> None:
        frame = {
            "task": self._task.title,
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

    def _count(self, curves: Floats) -> Floats:
        return heads_removable(curves, self._shares, self._tolerance)

    def _resampled(self, values: Floats) -> Floats:
        return resampled_means(values, self._units.of_examples, **self._drawing)

    def _note_removable(self, order: str, count: Floats, low: Floats, high: Floats, fall: Floats) -> None:
        """Add a row per measure; empty where the fall [E, measures] without any head is not reliable."""
        falls = np.mean(self._resampled(fall) > 0, axis=0) >= LEAST_FALLING
        frame = {
            "task": self._task.title,
            "measure": list(self._task.measures),
            "order": order,
            "heads_removable": np.where(falls, count, np.nan),
            "low": np.where(falls, low, np.nan),
            "high": np.where(falls, high, np.nan),
            "tolerance": self._tolerance,
            "heads": self._shape.total,
        }
        self._removable.append(pd.DataFrame(frame))


def heads_removable(curves: Floats, removed: Sequence[int], tolerance: float) -> Floats:
    """How many heads are gone where each curve first falls by the tolerated share of its whole fall.

    curves: [C, points, measures]; removed: how many heads are gone at each point. Returns [C, measures]; NaN where
    the score does not fall at all from the first point to the last, or is missing.
    """
    fall = curves[:, :1] - curves[:, -1:]  # [C, 1, measures]
    below = curves[:, :1] - curves - tolerance * fall  # at 0 the curve meets the bound
    gone = np.asarray(removed, dtype=np.float64)[None, :, None]
    before, after = below[:, :-1], below[:, 1:]
    crosses = (before < 0) & (after >= 0)
    step = np.where(crosses, after - before, 1)
    where = gone[:, :-1] + (gone[:, 1:] - gone[:, :-1]) * np.where(crosses, -before, 0) / step
    first = np.take_along_axis(where, crosses.argmax(1)[:, None], 1)[:, 0]
    return np.asarray(np.where(fall[:, 0] > 0, first, np.nan))
