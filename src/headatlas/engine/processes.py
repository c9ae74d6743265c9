"""Workers as processes of this machine, each with the same weights in shared memory.

They are started afresh (not forked, which threads of torch and numba do not survive) and get the job once; after that
only segments go out and sums come back. A worker whose parent is gone ends by itself.

Nothing here waits for a worker that is gone, or that Ctrl-C ended while it was starting: all messages go over one
line, whose end is noticed, from a thread that nobody waits for; and a worker never gets Ctrl-C, from its first moment.
"""

from __future__ import annotations

import logging
import os
import signal
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, Pipe, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import torch
from torch import multiprocessing

import headatlas.errors as errors
from headatlas.encoding.segments import Segment
from headatlas.engine.job import Job
from headatlas.engine.workers import Answer
from headatlas.errors import HeadatlasError, ModelError
from headatlas.studies.study import State

GRACE_SECONDS = 5.0  # for a worker to end when asked to
SILENCE_SECONDS = 60.0  # until a worker that has not answered is named, and again after twice as long
_log = logging.getLogger(__name__)


class _Member:
    """One worker process: what it is sent waits in a queue of its own."""

    def __init__(self, process: BaseProcess, line: Connection) -> None:
        self.process, self.line = process, line
        self._post = ThreadPoolExecutor(1, thread_name_prefix=process.name)

    def send(self, message: Any) -> None:
        """Send without waiting for the worker to read it. Raises whatever keeps the message from being sent."""
        self._post.submit(self._deliver, ForkingPickler.dumps(message))

    def _deliver(self, content: memoryview) -> None:
        with suppress(OSError):  # where the worker has died, its line is found closed by whoever listens
            self.line.send_bytes(content)

    def end(self) -> None:
        """End the process, finished or not; whatever waits to be sent is lost with it."""
        self.process.terminate()
        self.process.join(GRACE_SECONDS)
        if self.process.is_alive():  # as one that is stopped
            self.process.kill()
            self.process.join()
        self._post.shutdown(cancel_futures=True)
        self.line.close()


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
        self._busy: dict[int, float] = {}  # since when

    def give(self, member: int, batches: Sequence[Sequence[Segment]]) -> None:
        """Let an idle member see some batches; it is started when it gets its first."""
        if member not in self._members:
            self.replace(member)
        self._busy[member] = time.monotonic()
        self._members[member].send(batches)

    def hear(self) -> Answer:
        """Wait for the next member that has finished or is lost; name those that are silent for long."""
        lines = {self._members[number].line: number for number in self._busy}
        patience = SILENCE_SECONDS
        while not (ready := wait(list(lines), patience)):
            self._name_silent()
            patience *= 2
        member = lines[ready[0]]  # type: ignore[index]
        del self._busy[member]
        try:
            answer = self._members[member].line.recv()
        except (EOFError, OSError):
            return Answer(member, None, self._ending(member))
        if isinstance(answer, _Failure):
            raise answer.error()
        return Answer(member, answer)

    def replace(self, member: int) -> None:
        """Start a worker, in the place of a lost one where there was one."""
        self._end(member)
        here, there = Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=_work, args=(there, self._threads), daemon=True, name=f"headatlas-worker-{member + 1}"
        )
        with _without_ctrl_c():
            process.start()
        there.close()
        self._members[member] = _Member(process, here)
        try:
            self._members[member].send(self._job)
        except Exception as error:  # whatever there is in a model that cannot be sent
            raise ModelError(
                f"{self._job.model.name} cannot be handed to another process ({error}). Run it without --workers."
            ) from error

    def close(self) -> None:
        """End all workers, finished or not."""
        for member in list(self._members):
            self._end(member)

    def _end(self, member: int) -> None:
        if (lost := self._members.pop(member, None)) is not None:
            lost.end()

    def _ending(self, member: int) -> str:
        """How a lost worker ended, in words."""
        process = self._members[member].process
        process.join(GRACE_SECONDS)
        code = process.exitcode
        if code == -signal.SIGKILL:
            return "was killed, which the system does when memory runs out"
        if code is not None and code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def _name_silent(self) -> None:
        """Say which workers have not answered, and what can be done where one is stopped."""
        for member, since in self._busy.items():
            process, seconds = self._members[member].process, time.monotonic() - since
            worker = f"Worker {member + 1} (process {process.pid}) has not answered for {seconds:.0f} seconds"
            if _is_stopped(process.pid):
                _log.warning(
                    "%s: it is stopped. Continue it with `kill -CONT %d`, or give its batches to another worker with "
                    "`kill -KILL %d`.", worker, process.pid, process.pid,
                )  # fmt: skip
            else:
                _log.warning("%s; it is still at work.", worker)


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """What is started within never gets Ctrl-C, which a terminal sends to all processes; ours is only put off."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # which would let Ctrl-C through again if it were started within
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_stopped(process: int | None) -> bool:
    """Whether a process is stopped, as by Ctrl-Z or a debugger; False where the system does not tell."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return False
    return state in "Tt"


def _work(line: Connection, threads: int) -> None:
    """A worker's life: the job, then batches in, sums out, until the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    torch.set_num_threads(threads)
    job: Job | None = None
    while True:
        answer: dict[str, State] | _Failure
        try:
            if job is None:
                job = line.recv()
            batches = line.recv()
            answer = job.sums(batches)
        except EOFError:
            return
        except Exception as error:  # whatever it is, the parent raises it
            answer = _Failure.of(error)
        try:
            line.send(answer)
        except OSError:
            os._exit(0)  # the parent is gone
