"""Running studies over batches: one forward pass feeds all of them, layer by layer."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from pathlib import Path

from headatlas.choices import Stack
from headatlas.encoding.batches import iterate_batches, plan_batches
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.segments import Segment
from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.job import Job, Work
from headatlas.engine.progress import TokenProgress
from headatlas.engine.stopping import ctrl_c
from headatlas.engine.workers import Workers, observe_with_workers
from headatlas.errors import SurveyInterruptedError
from headatlas.models.model import Observable
from headatlas.studies import Study

SECONDS_BETWEEN_SAVES = 30.0


def run_studies(
    model: Observable,
    segments: Sequence[Segment],
    studies: Mapping[str, Study],
    *,
    kinds: KindTable,
    batch_tokens: int,
    seed: int = 0,
    stack: Stack | None = None,
    smoothing: float = 0.0,
    checkpoint: Checkpoint | None = None,
    seconds_between_saves: float = SECONDS_BETWEEN_SAVES,
    workers: Workers | None = None,
    description: str | None = None,
    show_progress: bool = False,
) -> None:
    """Let every study see every segment once; resume from the checkpoint's state if there is one.

    workers: run the batches in place of this process. Ctrl-C lets the current batch end, saves, and raises
    SurveyInterruptedError.
    """
    stack = stack or model.default_stack
    job = Job(model, deepcopy(dict(studies)), kinds, stack, smoothing, seed)
    for study in studies.values():
        study.start(model.shapes[stack])
    limits = [pairs for study in studies.values() if (pairs := study.batch_pairs()) is not None]
    plan = plan_batches(segments, batch_tokens, min(limits, default=None))
    done = checkpoint.resume(studies, len(plan)) if checkpoint else set()
    sizes = [sum(len(segments[index]) for index in indices) for indices in plan]
    left = [number for number in range(len(plan)) if number not in done]
    work = Work(segments, plan, left, sizes)
    if checkpoint and not plan:
        checkpoint.save(studies, done)
    saved_at = time.monotonic()
    with (
        ctrl_c() as stop,
        TokenProgress(
            description or Path(model.name).name, sum(sizes), sum(sizes[number] for number in done), show_progress
        ) as progress,
        closing(
            observe_with_workers(workers, job, work, studies) if workers else _observe_here(job, work, studies)
        ) as blocks,
    ):
        for block in blocks:
            done.update(block)
            progress.advance(sum(sizes[number] for number in block))
            due = time.monotonic() - saved_at >= seconds_between_saves
            if checkpoint and (due or stop.is_set() or len(done) == len(plan)):
                checkpoint.save(studies, done)
                saved_at = time.monotonic()
            if stop.is_set():
                saved = f" after {len(done)} of {len(plan)} batches; the same command continues" if checkpoint else ""
                raise SurveyInterruptedError(f"Stopped{saved}.")


def _observe_here(job: Job, work: Work, studies: Mapping[str, Study]) -> Generator[Sequence[int]]:
    """Observe one batch after another in this process, and yield the number of each."""
    observer = job.observer(studies)
    plan = [work.plan[number] for number in work.left]
    for number, batch in zip(work.left, iterate_batches(work.segments, plan, job.kinds, job.model.pad_id), strict=True):
        observer.observe(batch.to(job.model.device))
        yield [number]
