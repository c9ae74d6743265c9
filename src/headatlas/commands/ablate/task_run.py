"""Everything that is asked of one task: importance, each head removed alone, more and more heads removed.

Each head alone (Michel et al. 2019, section 3.2): a change is that of the mean score over examples; its p value comes
from a studentised bootstrap over examples or documents, corrected for all heads tried (see `statistics.paired`). What
removing more and more heads does is in `curves`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from headatlas.commands.ablate.curves import RemovalCurves, cross_fitted
from headatlas.commands.ablate.importance import batch_importance, halves_of, importance_table
from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.passes import Floats, HeadPlace, HeadRemoval, Replacement, find_replacement
from headatlas.commands.ablate.task import Task
from headatlas.encoding.shards import Shard
from headatlas.engine.run_folder import RunPart
from headatlas.models.stacks import Stack
from headatlas.progress import Stage, stage
from headatlas.statistics.correlation import fisher_interval, spearman
from headatlas.statistics.paired import PairedChanges, paired_changes, resampled_means
from headatlas.wording import counted

SIGNIFICANT = 0.01


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
    with _removing_stage(task, numbers, heads, removal, options, shard) as bar:
        parts = []
        for number in numbers:
            importance = batch_importance(task, number, stack, pieces)
            parts.append((importance, *removal.batch_scores(number, heads, pieces, bar)))
    if shard is not None:
        return NO_TABLES
    gradients, plain, without = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    drawing = {"seed": options.seed, "resamplings": options.bootstrap}
    with stage(f"Estimating intervals: {task.title}"):
        single = RemovedOne(heads, task.pooled(plain), task.pooled(without, plain))
        tested = head_changes(task, single, **drawing)
        tables = {
            "ablation": ablation_table(task, options.kind, single, tested),
            "importance": importance_table(task, gradients, shape, **drawing),
        }
    if options.curves and not removed:
        curves = _draw_curves(task, stack, replacement, options, single, _of_heads(gradients, shape.places), pieces)
        tables |= {"removal_curve": curves.table(), "removable_heads": curves.removable()}
    about = task.about | {"passes": removal.describe()}
    summary = summarise(task, single, tested, _of_heads(gradients, heads), **drawing)
    return TaskResult(tables, about, task.left_out, summary)


def _removing_stage(
    task: Task,
    numbers: Sequence[int],
    heads: Sequence[HeadPlace],
    removal: HeadRemoval,
    options: AblateOptions,
    shard: Shard | None,
) -> Stage:
    """The stage in which each head is removed, in passes over tokens, with the curves in its estimate."""
    examples = counted(sum(len(task.batches[number]) for number in numbers), "example")
    later = None
    if options.curves and options.heads is None and shard is None:
        tokens = sum(batch.size for batch in task.batches)
        later = "curves (omit them: --no-curves)", float(curve_passes(options) * tokens)
    description = f"Removing heads: {task.title}, {len(heads)} on {examples}"
    return stage(description, sum(removal.work(number, heads) for number in numbers), later=later)


def _draw_curves(
    task: Task,
    stack: Stack,
    replacement: Replacement,
    options: AblateOptions,
    single: RemovedOne,
    importance: Floats,
    pieces: RunPart,
) -> RemovalCurves:
    total = curve_passes(options) * sum(batch.size for batch in task.batches)
    drawing = {"steps": options.steps, "seed": options.seed, "resamplings": options.bootstrap}
    with stage(f"Removing ever more heads: {task.title}", total) as bar:
        curves = RemovalCurves(task, stack, replacement, **drawing, tolerance=options.tolerance, pieces=pieces, bar=bar)
        half, heads = halves_of(task, options.seed), curves.heads
        curves.add("importance", cross_fitted(importance, half, heads), single.plain)
        curves.add("remove_one", cross_fitted(single.harm, half, heads), single.plain)
        curves.add_random(options.random_orders, single.plain)
        curves.add("most_important_first", cross_fitted(-importance, half, heads), single.plain)
    return curves


def _of_heads(gradients: Floats, heads: Sequence[HeadPlace]) -> Floats:
    """[E, L, H] -> [E, heads]."""
    return np.stack([gradients[:, layer, head] for layer, head in heads], axis=1)


def summarise(
    task: Task,
    single: RemovedOne,
    tested: Sequence[PairedChanges],
    importance: Floats,
    *,
    seed: int,
    resamplings: int,
) -> dict[str, Any]:
    """Scores with all heads, how many heads matter, what could have been found, and how far both ways agree.

    importance: [E, heads].
    """
    main, units = tested[0], task.units
    significant = main.p_value < SIGNIFICANT
    findable = main.findable(SIGNIFICANT)
    change = single.changes(task.measures.index(task.like_loss))
    heads = len(single.heads)
    both = resampled_means(np.hstack([importance, change]), units.of_examples, seed=seed, resamplings=resamplings)
    half = halves_of(task, seed)
    means = np.hstack([importance.mean(0), change.mean(0)])[None]  # [1, 2 * heads]

    def agreement(meaning: Callable[[Floats], Floats]) -> dict[str, float] | None:
        value, replicates = (spearman(sides[:, :heads], meaning(sides[:, heads:])) for sides in (means, both))
        return _correlation(float(value[0]), replicates, units.count)

    return {
        "scores": dict(zip(task.measures, map(float, single.plain.mean(0)), strict=True)),
        "unit": units.name,
        "units": units.count,
        "heads": heads,
        "worse_without": int((significant & (main.mean < 0)).sum()),
        "better_without": int((significant & (main.mean > 0)).sum()),
        "tested": int(np.isfinite(main.error).sum()),
        "findable": findable if np.isfinite(findable) else None,
        "commonest_answer": _beside_commonest(task, single.plain, seed, resamplings),
        "importance_of_halves": _of_halves(importance, half),
        "change_of_halves": _of_halves(change, half),
        "importance_and_harm": agreement(np.negative),
        "importance_and_change": agreement(np.abs),
        "harm_measured_by": task.like_loss,
    }


def _beside_commonest(task: Task, plain: Floats, seed: int, resamplings: int) -> dict[str, Any] | None:
    """The accuracy of the commonest answer, and whether the model's is reliably above; None if a task has none."""
    answers = task.commonest_answer()
    if answers is None:
        return None
    scores = answers.cpu().numpy().astype(np.float64)
    lead = (plain[:, task.measures.index("accuracy")] - scores)[:, None]
    tested = paired_changes(lead, task.ids, seed=seed, resamplings=resamplings, units=task.units.of_examples)
    beaten = bool(tested.p_value[0] < SIGNIFICANT and tested.mean[0] > 0)
    return {"accuracy": float(scores.mean()), "beaten": beaten}


def _of_halves(values: Floats, half: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float | None:
    """Rank correlation over heads between the means of both halves of the examples; None if there is none."""
    if len(np.unique(half)) < 2:
        return None
    value = float(spearman(values[half == 0].mean(0), values[half == 1].mean(0)))
    return None if np.isnan(value) else round(value, 3)


def _correlation(value: float, replicates: Floats, units: int) -> dict[str, float] | None:
    """A correlation with its interval for the manifest; None if a side is constant or there are too few heads."""
    if np.isnan(value):
        return None
    low, high = fisher_interval(float(value), replicates, units)
    return {"value": round(float(value), 3), "low": round(low, 3), "high": round(high, 3)}


@dataclass(frozen=True)
class RemovedOne:
    """Scores of a task's examples with and without each of some heads."""

    heads: Sequence[HeadPlace]
    plain: Floats  # [E, measures]
    without: Floats  # [E, heads, measures]

    @property
    def harm(self) -> Floats:
        """By how much each example's first score falls without each head: [E, heads]."""
        return -self.changes(0)

    def changes(self, measure: int) -> Floats:
        """By how much each example's score by a measure differs without each head: [E, heads]."""
        changes: Floats = self.without[:, :, measure] - self.plain[:, measure, None]
        return changes


def head_changes(task: Task, single: RemovedOne, *, seed: int, resamplings: int) -> list[PairedChanges]:
    """Of each measure, the changes without each head."""
    drawing = {"seed": seed, "resamplings": resamplings}
    return [
        paired_changes(single.changes(place), task.ids, units=task.units.of_examples, **drawing)
        for place in range(len(task.measures))
    ]


def ablation_table(task: Task, kind: str, single: RemovedOne, tested: Sequence[PairedChanges]) -> pd.DataFrame:
    """One row per measure and head, as `tables.ABLATION` declares."""
    units = task.units
    frames = []
    for place, (measure, changes) in enumerate(zip(task.measures, tested, strict=True)):
        frames.append(
            pd.DataFrame(
                {
                    "task": task.title,
                    "measure": measure,
                    "kind": kind,
                    "layer": [layer + 1 for layer, _ in single.heads],
                    "head": [head + 1 for _, head in single.heads],
                    "score": single.without[:, :, place].mean(0),
                    "change": changes.mean,
                    "low": changes.low,
                    "high": changes.high,
                    "p_value": changes.p_value,
                    "count": len(single.plain),
                    "unit": units.name,
                    "units": units.count,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def curve_passes(options: AblateOptions) -> int:
    """Passes over all examples that the curves take."""
    return 3 * options.steps + options.random_orders * (options.steps - 1) + 1
