"""Running studies over batches: one forward pass feeds all of them, layer by layer."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from headatlas.encoding.batches import iterate_batches, plan_batches
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.segments import Segment
from headatlas.engine.checkpoint import Checkpoint
from headatlas.engine.observer import Observer
from headatlas.engine.progress import TokenProgress
from headatlas.errors import SurveyInterruptedError
from headatlas.models.model import Observable
from headatlas.models.stacks import Stack
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
    description: str | None = None,
    show_progress: bool = False,
) -> None:
    """Let every study see every segment once; continue from the checkpoint's state where there is one.

    Ctrl-C lets the current batch end, saves, and raises SurveyInterruptedError.
    """
    stack = stack or model.default_stack
    for study in studies.values():
        study.start(model.shapes[stack])
    done = checkpoint.resume(studies) if checkpoint else 0
    limits = [pairs for study in studies.values() if (pairs := study.batch_pairs()) is not None]
    plan = plan_batches(segments, batch_tokens, min(limits, default=None))
    sizes = [sum(len(segments[index]) for index in indices) for indices in plan]
    observer = Observer(model, studies, stack, smoothing, seed)
    saved_at = time.monotonic()
    with (
        ctrl_c() as stop,
        TokenProgress(description or Path(model.name).name, sum(sizes), sum(sizes[:done]), show_progress) as progress,
    ):
        for batch in iterate_batches(segments, plan[done:], kinds, model.pad_id):
            observer.see(batch.to(model.device))
            done += 1
            progress.advance(batch.tokens)
            due = time.monotonic() - saved_at >= seconds_between_saves
            if checkpoint and (due or stop.is_set() or done == len(plan)):
                checkpoint.save(studies, done)
                saved_at = time.monotonic()
            if stop.is_set() and done < len(plan):
                kept = f" after {done} of {len(plan)} batches; the same command continues" if checkpoint else ""
                raise SurveyInterruptedError(f"Stopped{kept}.")


@contextmanager
def ctrl_c() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event, so that a batch is never half counted; the second one interrupts."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
