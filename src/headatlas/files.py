"""Writing files so that a reader never meets half of one, and hashing them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from headatlas.errors import AtlasError

CHUNK_BYTES = 1 << 20


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary neighbour of `path`, then move it into place in one step.

    If anything fails, the old file stays as it was and the temporary one is removed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with temporary.open("r+b") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    except OSError as error:
        raise AtlasError(f"{path}: cannot write ({error.strerror or error}). {_remedy(error)}") from error
    finally:
        with contextlib.suppress(OSError):  # a read-only disk refuses even to remove what is not there
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def make_folder(path: Path) -> None:
    """Create a folder and its parents, with a clear error where that is impossible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AtlasError(f"{path}: cannot make this folder ({error.strerror}). {_remedy(error)}") from error


def sha256(path: Path) -> str:
    """The hexadecimal SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def safetensors_metadata(content: bytes) -> dict[str, str]:
    """The words that a safetensors file carries beside its tensors; KeyError or ValueError where it has none."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return dict(header["__metadata__"])


def _remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "The disk is full: free some space and run the same command again; finished work is kept."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Choose a folder you may write to."
    return "Check the folder and run the same command again; finished work is kept."
