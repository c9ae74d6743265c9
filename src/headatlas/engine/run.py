"""Running studies over batches: one forward pass feeds all of them, layer by layer."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from functools import partial
from multiprocessing.reduction import ForkingPickler

from headatlas.choices import Stack
from headatlas.encoding.batches import iterate_batches, plan_batches
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.segments import Segment
from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.guards import ctrl_c
from headatlas.engine.job import Failures, Job, Work, attempt, is_own
from headatlas.engine.workers import Workers, observe_with_workers
from headatlas.errors import PluginError, SurveyInterruptedError
from headatlas.models.model import Observable
from headatlas.models.stacks import HeadShape
from headatlas.progress import Stage, stage
from headatlas.studies.study import Study
from headatlas.wording import counted

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
    checkpoint: Checkpoint | None = None,
    seconds_between_saves: float = SECONDS_BETWEEN_SAVES,
    workers: Workers | None = None,
    description: str = "Observing",
) -> Failures:
    """Let every study see every segment once; resume from the checkpoint's state if there is one.

    Args:
        model: The model, or stored maps, to observe.
        segments: What it reads.
        studies: The studies by name; they are started here.
        kinds: The kind of every token.
        batch_tokens: Tokens per batch, including padding.
        seed: Seed of the masking.
        stack: The attention to observe; by default the model's first.
        checkpoint: Where the state is saved.
        seconds_between_saves: How often.
        workers: Who runs the batches; by default this process.
        description: What the progress bar is called, before the number of segments.

    Returns:
        The studies of other packages that failed, and how. What the others saw is not affected.

    Raises:
        SurveyInterruptedError: Ctrl-C was pressed. The current batch was finished and everything saved.
    """
    stack = stack or model.default_stack
    blank = deepcopy(dict(studies))
    failures = _start(studies, model.shapes[stack], workers)
    job = Job(model, _without(blank, failures), kinds, stack, seed)
    limits = [pairs for name in studies if name not in failures and (pairs := studies[name].batch_pairs()) is not None]
    plan = plan_batches(segments, batch_tokens, min(limits, default=None))
    done: set[int] = set()
    if checkpoint:
        done, saved_failures = checkpoint.resume(_without(studies, failures), len(plan))
        failures |= saved_failures
    sizes = [sum(len(segments[index]) for index in indices) for indices in plan]
    left = [number for number in range(len(plan)) if number not in done]
    work = Work(segments, plan, left, sizes)
    if checkpoint and not plan:
        checkpoint.save(_without(studies, failures), done, failures)
    saved_at = time.monotonic()
    with (
        ctrl_c() as stop,
        stage(
            f"{description}: {counted(len(segments), 'segment')}", sum(sizes), sum(sizes[number] for number in done)
        ) as bar,
        closing(
            observe_with_workers(workers, job, work, studies, failures)
            if workers
            else _observe_here(job, work, studies, failures, bar)
        ) as blocks,
    ):
        for block in blocks:
            done.update(block)
            bar.advance(sum(sizes[number] for number in block))
            due = time.monotonic() - saved_at >= seconds_between_saves
            if checkpoint and (due or stop.is_set() or len(done) == len(plan)):
                checkpoint.save(_without(studies, failures), done, failures)
                saved_at = time.monotonic()
            if stop.is_set():
                saved = f" after {len(done)} of {len(plan)} batches; the same command continues" if checkpoint else ""
                raise SurveyInterruptedError(f"Stopped{saved}.")
    return failures


def _start(studies: Mapping[str, Study], shape: HeadShape, workers: Workers | None) -> Failures:
    """Start every study; return those of other packages that cannot be started."""
    failures: Failures = {}
    for name, study in studies.items():
        attempt(name, study, failures, partial(_start_one, study, shape, workers))
    return failures


def _start_one(study: Study, shape: HeadShape, workers: Workers | None) -> None:
    study.start(shape)
    study.batch_pairs()
    study.reductions()
    if not study.state():
        raise PluginError("it declares no State, so that nothing could be merged, saved or resumed")
    if workers and not is_own(study):
        if type(study).__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
            raise PluginError("workers cannot import a class of a notebook; write it to a file, or omit --workers")
        ForkingPickler.dumps(study)


def _without(studies: Mapping[str, Study], failures: Failures) -> dict[str, Study]:
    return {name: study for name, study in studies.items() if name not in failures}


def _observe_here(
    job: Job, work: Work, studies: Mapping[str, Study], failures: Failures, bar: Stage
) -> Generator[Sequence[int]]:
    """Observe one batch after another in this process, and yield the number of each. Adds to the failures."""
    observer = job.observer(_without(studies, failures))
    plan = [work.plan[number] for number in work.left]
    for number, batch in zip(work.left, iterate_batches(work.segments, plan, job.kinds, job.model.pad_id), strict=True):
        bar.begin(work.sizes[number])
        observer.observe(batch.to(job.model.device))
        failures |= observer.failures
        yield [number]
