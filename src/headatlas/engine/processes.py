"""Workers as processes of this machine, each with the same weights in shared memory.

They are started afresh (not forked, which threads of torch and numba do not survive) and get the job once; after that
only segments go out and sums come back. A worker whose parent is gone ends by itself.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from multiprocessing.process import BaseProcess

import torch
from torch import multiprocessing

from headatlas import errors
from headatlas.encoding.segments import Segment
from headatlas.engine.crew import Answer
from headatlas.engine.job import Job
from headatlas.errors import HeadatlasError, ModelError
from headatlas.studies.study import State

GRACE_SECONDS = 5.0  # for a worker to end when asked to


@dataclass(frozen=True)
class _Member:
    process: BaseProcess
    line: Connection


@dataclass(frozen=True)
class _Failure:
    """What went wrong in a worker, in words that any process can read."""

    kind: str | None  # of our own errors, else None
    message: str

    @classmethod
    def of(cls, error: Exception) -> _Failure:
        if isinstance(error, HeadatlasError):
            return cls(type(error).__name__, str(error))
        return cls(None, "".join(traceback.format_exception(error)))

    def error(self) -> Exception:
        """The error again."""
        own = getattr(errors, self.kind) if self.kind else RuntimeError
        return own(self.message)


class Processes:
    """A team of processes. threads: of each; by default those of this process are shared out."""

    def __init__(self, job: Job, workers: int, threads: int | None = None) -> None:
        self._job, self._threads = job, threads or max(1, torch.get_num_threads() // workers)
        self._members: dict[int, _Member] = {}
        self._busy: set[int] = set()

    def give(self, member: int, batches: Sequence[Sequence[Segment]]) -> None:
        """Let an idle member see some batches; it is started when it gets its first."""
        if member not in self._members:
            self.replace(member)
        self._busy.add(member)
        with suppress(OSError):  # where it died while idle, `hear` finds the line closed
            self._members[member].line.send(batches)

    def hear(self) -> Answer:
        """Wait for the next member that has finished or is lost."""
        busy = {self._members[number].line: number for number in self._busy}
        line = wait(list(busy))[0]
        member = busy[line]  # type: ignore[index]
        self._busy.discard(member)
        try:
            answer = self._members[member].line.recv()
        except (EOFError, OSError):
            return Answer(member, None)
        if isinstance(answer, _Failure):
            raise answer.error()
        return Answer(member, answer)

    def replace(self, member: int) -> None:
        """Start a worker, in the place of a lost one where there was one."""
        self._end(member)
        here, there = Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=_work, args=(there, self._job, self._threads), daemon=True, name=f"headatlas-worker-{member}"
        )
        try:
            process.start()
        except Exception as error:  # whatever there is in a model that cannot be sent
            raise ModelError(
                f"{self._job.model.name} cannot be handed to another process ({error}). Run it without --workers."
            ) from error
        there.close()
        self._members[member] = _Member(process, here)

    def close(self) -> None:
        """End all workers, finished or not."""
        for member in list(self._members):
            self._end(member)

    def _end(self, member: int) -> None:
        lost = self._members.pop(member, None)
        if lost is None:
            return
        lost.line.close()
        lost.process.terminate()
        lost.process.join(GRACE_SECONDS)
        if lost.process.is_alive():
            lost.process.kill()
            lost.process.join()


def _work(line: Connection, job: Job, threads: int) -> None:
    """A worker's life: batches in, sums out, until the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    torch.set_num_threads(threads)
    while True:
        try:
            batches = line.recv()
        except EOFError:
            return
        answer: dict[str, State] | _Failure
        try:
            answer = job.sums(batches)
        except Exception as error:  # whatever it is, the parent raises it
            answer = _Failure.of(error)
        try:
            line.send(answer)
        except OSError:
            os._exit(0)  # the parent is gone
