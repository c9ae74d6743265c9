"""Workers as processes on this machine, which share the weights in memory.

They are not forked from this process, since threads of torch and numba do not survive that, but from a server that has
imported torch and transformers once for all of them and never computes. They get the job once; after that only segments
go out and sums come back. A worker whose parent has died ends by itself.

Nothing here waits for a worker that has died, or that Ctrl-C ended while it was starting: all messages go through one
pipe, whose end is noticed, and are sent by a thread that nobody waits for; and a worker never gets Ctrl-C.
"""

from __future__ import annotations

import logging
import os
import signal
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import forkserver, get_context, resource_tracker, set_start_method
from multiprocessing.connection import Connection, Pipe, wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import torch
import torch.multiprocessing  # which sends tensors without copies

import headatlas.errors as errors
from headatlas.encoding.segments import Segment
from headatlas.engine.job import Failures, Job, Sums
from headatlas.engine.workers import Reply
from headatlas.errors import HeadatlasError, ModelError

PRELOADED = [__name__, "transformers.modeling_utils", "transformers.masking_utils"]  # by the server
GRACE_SECONDS = 5.0  # for a worker to end when asked to
SILENCE_SECONDS = 60.0  # until a silent worker is named, and again after twice as long
_log = logging.getLogger(__name__)


class _Worker:
    """One worker process, with a queue of messages to it."""

    def __init__(self, process: BaseProcess, pipe: Connection) -> None:
        self.process, self.pipe = process, pipe
        self._sender = ThreadPoolExecutor(1, thread_name_prefix=process.name)

    def send(self, message: Any) -> None:
        """Send without waiting for the worker to read it. Raises an error if the message cannot be pickled."""
        self._sender.submit(self._deliver, ForkingPickler.dumps(message))

    def _deliver(self, content: memoryview) -> None:
        with suppress(OSError):  # if the worker has died, `receive` finds its pipe closed
            self.pipe.send_bytes(content)

    def end(self) -> None:
        """End the process, finished or not; queued messages are lost."""
        self.process.terminate()
        self.process.join(GRACE_SECONDS)
        if self.process.is_alive():  # for example because it is stopped
            self.process.kill()
            self.process.join()
        self._sender.shutdown(cancel_futures=True)
        self.pipe.close()


@dataclass(frozen=True)
class _Failure:
    """An error in a worker, as text that any process can read."""

    kind: str | None  # of our own errors, else None
    message: str

    @classmethod
    def of(cls, error: Exception) -> _Failure:
        if isinstance(error, HeadatlasError):
            return cls(type(error).__name__, str(error))
        return cls(None, "".join(traceback.format_exception(error)))

    def error(self) -> Exception:
        """The error to raise in this process."""
        kind: type[Exception] = getattr(errors, self.kind) if self.kind else RuntimeError
        return kind(self.message)


class ProcessPool:
    """A pool of processes. threads: per process; by default the threads of this process are divided among them."""

    def __init__(self, job: Job, workers: int, threads: int | None = None) -> None:
        self._job, self._threads = job, threads or max(1, torch.get_num_threads() // workers)
        self._workers: dict[int, _Worker] = {}
        self._busy: dict[int, float] = {}  # since when each works

    def give(self, worker: int, batches: Sequence[Sequence[Segment]]) -> None:
        if worker not in self._workers:
            self.replace(worker)
        self._busy[worker] = time.monotonic()
        self._workers[worker].send(batches)

    def receive(self) -> Reply:
        patience = SILENCE_SECONDS
        while not (ready := wait([self._workers[number].pipe for number in self._busy], patience)):
            self._name_silent()
            patience *= 2
        worker = next(number for number in self._busy if self._workers[number].pipe is ready[0])
        del self._busy[worker]
        try:
            message = self._workers[worker].pipe.recv()
        except (EOFError, OSError):
            return Reply(worker, None, self._ending(worker))
        if isinstance(message, _Failure):
            raise message.error()
        return Reply(worker, message)

    def replace(self, worker: int) -> None:
        self._end(worker)
        our_end, worker_end = Pipe()
        process = fork_server().Process(
            target=_work, args=(worker_end, self._threads), daemon=True, name=f"headatlas-worker-{worker + 1}"
        )
        process.start()
        worker_end.close()
        self._workers[worker] = _Worker(process, our_end)
        try:
            self._workers[worker].send(self._job)
        except Exception as error:  # from anything in a model that cannot be pickled
            raise ModelError(
                f"{self._job.model.name} cannot be sent to another process ({error}). Run it without --workers."
            ) from error

    def close(self) -> None:
        for worker in list(self._workers):
            self._end(worker)

    def _end(self, worker: int) -> None:
        if (running := self._workers.pop(worker, None)) is not None:
            running.end()

    def _ending(self, worker: int) -> str:
        """How a lost worker ended."""
        process = self._workers[worker].process
        process.join(GRACE_SECONDS)
        code = process.exitcode
        if code == -signal.SIGKILL:
            return "was killed, which the system does when memory runs out"
        if code is not None and code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def _name_silent(self) -> None:
        """Log which workers have not answered, and what to do if one is stopped."""
        for number, since in self._busy.items():
            process, seconds = self._workers[number].process, time.monotonic() - since
            worker = f"Worker {number + 1} (process {process.pid}) has not answered for {seconds:.0f} seconds"
            if _is_stopped(process.pid):
                _log.warning(
                    "%s: it is stopped. Continue it with `kill -CONT %d`, or give its batches to another worker with "
                    "`kill -KILL %d`.", worker, process.pid, process.pid,
                )  # fmt: skip
            else:
                _log.warning("%s; it is still running.", worker)


def fork_server() -> ForkServerContext:
    """Start the server, unless it runs. What is forked from it does not get Ctrl-C, which a terminal sends to all."""
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    resource_tracker.ensure_running()  # which would unblock Ctrl-C if the server started it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


def _is_stopped(process: int | None) -> bool:
    """Whether a process is stopped, for example by Ctrl-Z; False if the system does not say."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return False
    return state in "Tt"


def _work(pipe: Connection, threads: int) -> None:
    """Run a worker: get the job, then turn batches into sums until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    set_start_method("fork", force=True)  # or numba's locks get names, which leak when the worker is ended
    torch.set_num_threads(threads)
    job: Job | None = None
    while True:
        message: tuple[Sums, Failures] | _Failure
        try:
            if job is None:
                job = pipe.recv()
            message = job.sums(pipe.recv())
        except EOFError:
            return
        except Exception as error:  # the parent raises it
            message = _Failure.of(error)
        try:
            pipe.send(message)
        except OSError:
            os._exit(0)  # the parent has died
