"""How long removing heads will take, said before the long part of a task that cannot be replayed."""

from __future__ import annotations

import time

import torch

from headatlas.commands.ablate.options import AblateOptions
from headatlas.commands.ablate.task import Task
from headatlas.wording import counted


def curve_passes(options: AblateOptions) -> int:
    """Passes over all examples that the curves take."""
    return 3 * options.steps + options.random_orders * (options.steps - 1) + 1


def estimate_time(task: Task, numbers: list[int], heads: int, options: AblateOptions, curves: bool) -> str:
    """Run the first of some batches once, and say how long all of them take without each head, and the curves."""
    if not numbers:
        return f"{task.name}: no example is in this shard"
    batch = task.batches[numbers[0]].to(task.model.device)
    begun = time.monotonic()
    with torch.inference_mode():
        task.scores(batch)
    per_token = (time.monotonic() - begun) / batch.size
    once = per_token * sum(task.batches[number].size for number in numbers)
    size = counted(sum(len(task.batches[number]) for number in numbers), "example")
    estimate = f"{task.name}: {counted(heads, 'head')} on {size}, about {spoken_duration(heads * once)}"
    if not curves:
        return estimate
    return f"{estimate}; then curves, about {spoken_duration(curve_passes(options) * once)} (omit them: --no-curves)"


def spoken_duration(seconds: float) -> str:
    """A duration rounded as people say it.

    >>> spoken_duration(8), spoken_duration(200), spoken_duration(9000)
    ('8 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 90:
        return counted(round(seconds), "second")
    return counted(round(seconds / 60), "minute") if seconds < 5400 else f"{seconds / 3600:.1f} hours"
