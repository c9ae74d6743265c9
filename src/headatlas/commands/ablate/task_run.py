"""Everything that is asked of one task: importance, each head removed alone, more and more heads removed.

Each head alone (Michel et al. 2019, section 3.2): a change is that of the mean score over examples; its p value comes
from a paired sign-flip test over examples, corrected for all heads tried (see `statistics.paired`).

More and more heads (section 4), in several orders: ``importance`` removes heads from the least to the most important,
``remove_one`` from the one that harms least when removed alone to the one that harms most, ``random`` in several random
orders, and ``most_important_first`` the other way round, which shows how much worse it could be. All but the random
orders are chosen on one half of the examples and scored on the other, both ways: no example is scored with an order
that it helped to choose.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor

from headatlas.commands.ablate.estimate import curve_passes, estimate_time
from headatlas.commands.ablate.importance import batch_importance, halves_of, importance_table
from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.passes import Floats, HeadPlace, HeadRemoval, Replacement, find_replacement, gated_scores
from headatlas.commands.ablate.task import Task
from headatlas.encoding.shards import Shard
from headatlas.engine.progress import TokenProgress
from headatlas.engine.run_folder import UNSAVED, Arrays, RunPart
from headatlas.models.gates import all_open
from headatlas.models.stacks import HeadShape, Stack
from headatlas.statistics.paired import bootstrap_means, paired_changes

SIGNIFICANT = 0.01
Order = Sequence[HeadPlace]


@dataclass
class TaskResult:
    """What one task gave: tables by name, and what the manifest says."""

    tables: dict[str, pd.DataFrame]
    about: dict[str, Any]
    left_out: dict[str, int]
    summary: dict[str, Any] = field(default_factory=dict)


NO_TABLES = TaskResult({}, {}, {})  # of a shard: tables need all of them


def run_task(
    task: Task, stack: Stack, removed: Sequence[tuple[int, int]], options: AblateOptions, pieces: RunPart
) -> TaskResult:
    """Make all tables of a task; of a shard, only the scores of the batches whose first example is in it.

    removed: the heads to remove alone, from 1; none means all, and curves too.
    """
    shape, shard = task.model.shapes[stack], Shard.parse(options.shard) if options.shard else None
    heads = [(layer - 1, head - 1) for layer, head in removed] or shape.places
    replacement = find_replacement(task, options.kind, stack, options.seed)
    removal = HeadRemoval(task, stack, replacement, options.batch_tokens)
    numbers = [n for n, batch in enumerate(task.batches) if shard is None or shard.holds(batch.ids[0])]
    description = f"{task.name}: {'each head removed' if shard is None else f'shard {shard}'}"
    parts = []
    total = sum(task.batches[number].size for number in numbers)
    if options.progress and not task.replayable:
        curves = options.curves and not removed and shard is None
        print(estimate_time(task, numbers, len(heads), options, curves), file=sys.stderr, flush=True)
    with TokenProgress(description, total, show=options.progress) as bar:
        for number in numbers:
            importance = batch_importance(task, number, stack, pieces)
            parts.append((importance, *removal.batch_scores(number, heads, pieces)))
            bar.advance(task.batches[number].size)
    if shard is not None:
        return NO_TABLES
    gradients, plain, without = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    single = RemovedOne(heads, task.pooled(plain), task.pooled(without, plain))
    drawing = {"seed": options.seed, "resamplings": options.bootstrap}
    tables = {
        "ablation": ablation_table(task, options.kind, single, **drawing),
        "importance": importance_table(task, gradients, shape, **drawing),
    }
    if options.curves and not removed:
        of_heads = np.stack([gradients[:, layer, head] for layer, head in shape.places], axis=1)  # [E, heads]
        tables["removal_curve"] = _draw_curves(task, stack, replacement, options, single, of_heads, pieces)
    about = task.about | {"passes": removal.describe()}
    summary = summarise(task, single, tables["ablation"], tables["importance"])
    return TaskResult(tables, about, task.left_out, summary)


def _draw_curves(
    task: Task,
    stack: Stack,
    replacement: Replacement,
    options: AblateOptions,
    single: RemovedOne,
    importance: Floats,
    pieces: RunPart,
) -> pd.DataFrame:
    total = curve_passes(options) * sum(batch.size for batch in task.batches)
    drawing = {"steps": options.steps, "seed": options.seed, "resamplings": options.bootstrap}
    with TokenProgress(f"{task.name}: more and more removed", total, show=options.progress) as bar:
        curves = RemovalCurves(task, stack, replacement, **drawing, pieces=pieces, bar=bar)
        half, heads = halves_of(task, options.seed), curves.heads
        curves.add("importance", cross_fitted(importance, half, heads), single.plain)
        curves.add("remove_one", cross_fitted(single.harm, half, heads), single.plain)
        curves.add_random(options.random_orders, single.plain)
        curves.add("most_important_first", cross_fitted(-importance, half, heads), single.plain)
    return curves.table()


def summarise(task: Task, single: RemovedOne, ablation: pd.DataFrame, importance: pd.DataFrame) -> dict[str, Any]:
    """Scores with all heads, how many heads matter, and how far the two ways of asking agree (Spearman)."""
    main = ablation[ablation["measure"] == task.measures[0]]
    significant = main[main["p_value"] < SIGNIFICANT]
    both = ablation[ablation["measure"] == task.like_loss].merge(importance, on=["layer", "head"])
    return {
        "scores": dict(zip(task.measures, map(float, single.plain.mean(0)), strict=True)),
        "heads": len(main),
        "worse_without": int((significant["change"] < 0).sum()),
        "better_without": int((significant["change"] > 0).sum()),
        "importance_of_halves": _spearman(importance["first_half"], importance["second_half"]),
        "importance_and_harm": _spearman(both["value"], -both["change"]),
        "harm_measured_by": task.like_loss,
    }


def _spearman(first: pd.Series[float], second: pd.Series[float]) -> float | None:
    """Rank correlation; None if there are fewer than three values, a value is missing or one side is constant."""
    if len(first) < 3 or any(side.isna().any() or side.nunique() < 2 for side in (first, second)):
        return None
    return round(float(np.asarray(spearmanr(first, second).statistic)), 3)


@dataclass(frozen=True)
class RemovedOne:
    """Scores of a task's examples with and without each of some heads."""

    heads: Sequence[HeadPlace]
    plain: Floats  # [E, measures]
    without: Floats  # [E, heads, measures]

    @property
    def harm(self) -> Floats:
        """By how much each example's first score falls without each head: [E, heads]."""
        harm: Floats = self.plain[:, None, 0] - self.without[:, :, 0]
        return harm


def ablation_table(task: Task, kind: str, single: RemovedOne, *, seed: int, resamplings: int) -> pd.DataFrame:
    """One row per measure and head: task, measure, kind, layer, head, score, change, low, high, p_value, count."""
    frames = []
    for place, measure in enumerate(task.measures):
        without = single.without[:, :, place]
        tested = paired_changes(without - single.plain[:, place, None], task.ids, seed=seed, resamplings=resamplings)
        frames.append(
            pd.DataFrame(
                {
                    "task": task.name,
                    "measure": measure,
                    "kind": kind,
                    "layer": [layer + 1 for layer, _ in single.heads],
                    "head": [head + 1 for _, head in single.heads],
                    "score": without.mean(0),
                    "change": tested.mean,
                    "low": tested.low,
                    "high": tested.high,
                    "p_value": tested.p_value,
                    "count": len(single.plain),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


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
        pieces: RunPart = UNSAVED,
        bar: TokenProgress | None = None,
    ) -> None:
        self._task, self._stack, self._replacement = task, stack, replacement
        self._steps, self._seed, self._resamplings = steps, seed, resamplings
        self._shape: HeadShape = task.model.shapes[stack]
        self._half, self._pieces, self._bar = halves_of(task, seed), pieces, bar
        self._frames: list[pd.DataFrame] = []

    @property
    def heads(self) -> list[HeadPlace]:
        """All heads, in order."""
        return self._shape.places

    def add(self, name: str, orders: tuple[Order, Order], plain: Floats) -> None:
        """A curve whose order each half of the examples has from the other; plain: [E, measures]."""
        for gone in shares_of(self._steps, self._shape.total):
            scores = self._scores(name, orders, gone) if gone else plain
            low, high = bootstrap_means(scores, self._task.ids, seed=self._seed, resamplings=self._resamplings)
            self._note(name, gone, scores.mean(0), low, high)

    def add_random(self, orders: int, plain: Floats) -> None:
        """The mean of several random orders; low and high are the lowest and the highest of them."""
        rng = np.random.default_rng([self._seed, 7])
        drawn = [[self.heads[place] for place in rng.permutation(self._shape.total)] for _ in range(orders)]
        for gone in shares_of(self._steps, self._shape.total):
            if gone in (0, self._shape.total):  # every order removes the same
                each = [(self._scores("random", (drawn[0], drawn[0]), gone) if gone else plain).mean(0)]
            else:
                each = [
                    self._scores(f"random-{number}", (order, order), gone).mean(0) for number, order in enumerate(drawn)
                ]
            self._note("random", gone, np.mean(each, 0), np.min(each, 0), np.max(each, 0))

    def table(self) -> pd.DataFrame:
        """task, measure, order, share, heads_removed, score, low, high, count."""
        return pd.concat(self._frames, ignore_index=True)

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
