"""One run per folder at a time: a second run that would write into it is refused at once."""

from __future__ import annotations

import errno
import json
import logging
import os
import platform
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from headatlas.errors import AtlasError
from headatlas.files import make_folder, parse_json
from headatlas.remote import local_folder, send
from headatlas.versions import moment

LOCK, HOLDER = ".lock", ".lock.json"  # the lock itself, and who holds it
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_log = logging.getLogger(__name__)
_held: ContextVar[frozenset[Path]] = ContextVar("held", default=frozenset())  # by this run


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
