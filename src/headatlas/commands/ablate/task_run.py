"""Everything that is asked of one task: importance, each head removed alone, more and more heads removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from headatlas.commands.ablate.importance import example_importance, halves_of, importance_table
from headatlas.commands.ablate.passes import Advance, HeadRemoval, Keep, make_anew
from headatlas.commands.ablate.removal import RemovalCurves, cross_fitted
from headatlas.commands.ablate.remove_one import RemovedOne, ablation_table
from headatlas.commands.ablate.replacement import Replacement, find_replacement
from headatlas.commands.ablate.settings import CORPUS_OF_TASK, TRAINED_ON, AblationSettings
from headatlas.commands.ablate.task import Task
from headatlas.engine.pieces import Floats
from headatlas.engine.progress import TokenProgress
from headatlas.models.stacks import Stack

SIGNIFICANT = 0.01


@dataclass
class Found:
    """What one task gave: tables by name, and what the manifest says."""

    tables: dict[str, pd.DataFrame]
    reads: tuple[str, ...]  # options whose files were read
    about: dict[str, Any]
    left_out: dict[str, int]
    summary: dict[str, Any] = field(default_factory=dict)


NO_TABLES = Found({}, (), {}, {})  # of a shard: tables need them all


def run_task(
    task: Task,
    stack: Stack,
    removed: Sequence[tuple[int, int]],
    settings: AblationSettings,
    show_progress: bool,
    keep: Keep = make_anew,
) -> Found:
    """All tables of a task. removed: the heads to remove alone, from 1; none means all, and curves too."""
    shape = task.model.shapes[stack]
    heads = [(layer - 1, head - 1) for layer, head in removed] or shape.places
    seed, resamplings = settings.seed, settings.bootstrap
    tokens = sum(batch.size for batch in task.batches)
    with _progress(task, "importance", tokens, show_progress) as advance:
        gradients = example_importance(task, stack, advance, keep)
    replacement = find_replacement(task, settings.kind, stack, seed)
    removal = HeadRemoval(task, stack, replacement, settings.batch_tokens)
    with _progress(task, "each head removed", tokens, show_progress) as advance:
        single = RemovedOne(heads, *removal.scores(heads, advance, keep))
    importance = importance_table(task, gradients, shape, seed=seed, resamplings=resamplings)
    ablation = ablation_table(task, settings.kind, single, seed=seed, resamplings=resamplings)
    tables = {"ablation": ablation, "importance": importance}
    if settings.curves and not removed:
        passes = 3 * settings.steps + settings.random_orders * (settings.steps - 1) + 1
        with _progress(task, "more and more removed", tokens * passes, show_progress) as advance:
            of_heads = np.stack([gradients[:, layer, head] for layer, head in shape.places], axis=1)  # [E, heads]
            tables["removal_curve"] = _curves(task, stack, replacement, settings, single, of_heads, advance, keep)
    about = task.about | {"passes": removal.why_whole or "layers below a removed head are re-used"}
    reads = tuple(options[task.name] for options in (CORPUS_OF_TASK, TRAINED_ON) if task.name in options)
    return Found(tables, reads, about, task.left_out, summarise(task, single, ablation, importance))


def _curves(
    task: Task,
    stack: Stack,
    replacement: Replacement,
    settings: AblationSettings,
    single: RemovedOne,
    importance: Floats,
    advance: Advance,
    keep: Keep,
) -> pd.DataFrame:
    curves = RemovalCurves(
        task, stack, replacement, steps=settings.steps, seed=settings.seed, resamplings=settings.bootstrap, keep=keep
    )
    half, heads = halves_of(task, settings.seed), curves.heads
    curves.add("importance", cross_fitted(importance, half, heads), single.plain, advance)
    curves.add("remove_one", cross_fitted(single.harm, half, heads), single.plain, advance)
    curves.add_random(settings.random_orders, single.plain, advance)
    curves.add("most_important_first", cross_fitted(-importance, half, heads), single.plain, advance)
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


def _spearman(one: pd.Series[float], other: pd.Series[float]) -> float | None:
    """Rank correlation; None where it does not exist: fewer than three values, a missing or constant side."""
    if len(one) < 3 or one.isna().any() or other.isna().any() or one.nunique() < 2 or other.nunique() < 2:
        return None
    return round(float(np.asarray(spearmanr(one, other).statistic)), 3)


@contextmanager
def _progress(task: Task, what: str, tokens: int, show: bool) -> Iterator[Advance]:
    with TokenProgress(f"{task.name}: {what}", tokens, show=show) as bar:
        yield bar.advance
