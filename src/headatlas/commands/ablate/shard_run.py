"""One share of an ablation: the scores of its batches, kept as pieces; what needs all scores comes after `merge`."""

from __future__ import annotations

from collections.abc import Sequence

from headatlas.commands.ablate.importance import batch_importance
from headatlas.commands.ablate.passes import HeadRemoval, Keep
from headatlas.commands.ablate.replacement import find_replacement
from headatlas.commands.ablate.settings import TRAINED_ON, AblationSettings
from headatlas.commands.ablate.task import Task
from headatlas.commands.ablate.task_run import NO_TABLES, Found
from headatlas.encoding.shards import Shard
from headatlas.engine.progress import TokenProgress
from headatlas.errors import SettingError
from headatlas.models.model import Model
from headatlas.models.stacks import Stack


def check_sharing(tasks: Sequence[str], model: Model) -> None:
    """Refuse tasks that are trained here: every machine would train one of its own."""
    own = {"classification"} if model.task_head == "classification" else set()
    if trained := [task for task in tasks if task in set(TRAINED_ON) - own]:
        raise SettingError(
            f"--shard cannot be had for {trained[0]}: what is trained here differs from machine to machine. Run it "
            "without --shard" + (", or give a model with a classifier." if trained[0] == "classification" else ".")
        )


def run_share(
    task: Task,
    stack: Stack,
    removed: Sequence[tuple[int, int]],
    settings: AblationSettings,
    show_progress: bool,
    keep: Keep,
) -> Found:
    """Keep the importance and the scores of the batches whose first example is in the share; no table yet."""
    shard = Shard.parse(settings.shard or "1/1")
    heads = [(layer - 1, head - 1) for layer, head in removed] or task.model.shapes[stack].places
    replacement = find_replacement(task, settings.kind, stack, settings.seed)
    removal = HeadRemoval(task, stack, replacement, settings.batch_tokens)
    mine = [number for number, batch in enumerate(task.batches) if shard.holds(batch.ids[0])]
    total = sum(task.batches[number].size for number in mine)
    with TokenProgress(f"{task.name}: shard {shard}", total, show=show_progress) as bar:
        for number in mine:
            batch_importance(task, number, stack, keep)
            removal.batch_scores(number, heads, keep)
            bar.advance(task.batches[number].size)
    return NO_TABLES
