"""What guards a run: one run per folder at a time, and a Ctrl-C that never leaves a batch half counted."""

from __future__ import annotations

import errno
import json
import logging
import os
import platform
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

from filelock import FileLock, Timeout

from headatlas.errors import AtlasError, SurveyInterruptedError
from headatlas.files import make_folder, parse_json
from headatlas.manifest import moment
from headatlas.remote import local_folder, send

LOCK, HOLDER = ".lock", ".lock.json"  # the lock itself, and who holds it
STOPPING = "Stopping after this batch; press Ctrl-C again to stop now."
KEPT = "Finished work is saved; the same command continues."
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_log = logging.getLogger(__name__)
_held: ContextVar[frozenset[Path]] = ContextVar("held", default=frozenset())  # by this run
_current: threading.Event | None = None  # of the outermost run that catches Ctrl-C


@contextmanager
def output_folder(out: str | Path, command: str) -> Iterator[Path]:
    """Hold the lock of the folder that results are made in; if nothing fails, send it to its URL at the end.

    Args:
        out: The folder to write to, or its URL.
        command: The command as typed, for the error message of a second run.

    Yields:
        The folder on this machine.
    """
    folder = local_folder(out)
    with lock_folder(folder, command):
        yield folder
        send(folder, out)


@contextmanager
def lock_folder(folder: Path, command: str) -> Iterator[None]:
    """Hold the lock of a folder. A missing folder is made, and removed again if nothing was written into it.

    The operating system releases the lock of a process that has died. A run within a run, such as the survey of a
    reproduction, shares the lock of the outer run.

    Raises:
        AtlasError: Another process holds the lock, or the folder cannot be made.
    """
    if folder.exists() and not folder.is_dir():
        raise AtlasError(f"{folder}: is a file. Give a folder with --out.")
    place = folder.resolve()
    if place in _held.get():
        yield
        return
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    make_folder(folder)
    with ExitStack() as stack:
        stack.callback(_remove_empty, new)
        if _acquire(folder, stack):
            with suppress(OSError):  # a full disk: the run reports it, unless it has nothing to write
                (folder / HOLDER).write_text(json.dumps(_myself(command)), encoding="utf-8")
            stack.callback(_remove, folder / LOCK)  # while it is held, which filelock supports
            stack.callback(_remove, folder / HOLDER)
        stack.callback(_held.reset, _held.set(_held.get() | {place}))
        yield


def _acquire(folder: Path, stack: ExitStack) -> bool:
    """Take the lock until the stack is closed; return False if the folder cannot have one."""
    lock = FileLock(folder / LOCK)
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            stack.enter_context(lock.acquire(timeout=0))
        if any("flock" in str(warning.message) for warning in said):  # a file replaces the lock
            _log.warning(_UNLOCKED, folder)
    except Timeout:
        raise AtlasError(
            f"{folder}: {_holder(folder)} is writing into this folder. "
            "Wait until it has finished, or choose another --out folder."
        ) from None
    except (NotImplementedError, OSError) as error:
        if isinstance(error, OSError) and error.errno in _READ_ONLY:
            return False  # a finished run can still be opened; a run that has to write reports the problem
        if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
            raise AtlasError(f"{folder}: cannot be locked ({error.strerror or error}).") from error
        _log.warning(_UNLOCKED, folder)
        return False
    return True


_UNLOCKED = "%s: this file system does not support locks. Make sure that no other run writes into this folder."


def _myself(command: str) -> dict[str, Any]:
    return {"process": os.getpid(), "machine": platform.node(), "command": command, "since": moment()}


def _holder(folder: Path) -> str:
    """Who holds a lock; its record may be missing or incomplete."""
    try:
        record = parse_json((folder / HOLDER).read_text(encoding="utf-8"))
        process, machine, since = int(record["process"]), str(record["machine"]), str(record["since"])
        command = str(record["command"])
    except (OSError, ValueError, TypeError, KeyError):
        return "another process"
    elsewhere = "" if machine == platform.node() else f" on {machine}"
    return f"process {process}{elsewhere} (headatlas {command}, since {since})"


def _remove(path: Path) -> None:
    with suppress(OSError):  # Windows keeps a file that is open
        path.unlink()


def _remove_empty(new: list[Path]) -> None:
    """Remove the folders that were made for the lock if they are still empty."""
    with suppress(OSError):
        for path in new:
            path.rmdir()


@contextmanager
def ctrl_c() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event, so that a batch is never half counted; the second interrupts.

    Runs may be nested (a survey within a reproduction): all of them share one event. The code within stops at its next
    safe point; a request during the last batch, which nobody checks for any more, is honoured at the end. Python
    delivers signals only to the main thread, so in other threads the event is never set.

    Yields:
        The event that the first Ctrl-C sets.

    Raises:
        SurveyInterruptedError: Ctrl-C was pressed and the code within did not stop.
    """
    global _current
    if threading.current_thread() is not threading.main_thread():
        yield threading.Event()
        return
    if _current is not None:
        yield _current
        return
    stop = _current = threading.Event()

    def request_stop(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        # Not the previous handler: a background job of a shell starts with Ctrl-C ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _say(STOPPING)

    before = signal.signal(signal.SIGINT, request_stop)
    try:
        yield stop
    finally:
        _current = None
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)
    if stop.is_set():
        raise SurveyInterruptedError(f"Stopped. {KEPT}")


def _say(text: str) -> None:
    """Print a line on standard error from within a signal handler."""
    try:
        print(text, file=sys.stderr, flush=True)
    except RuntimeError:  # the signal came in the middle of another write to the same stream
        os.write(2, f"\n{text}\n".encode())
