"""Writing files so that a reader never meets half of one, and hashing them."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from headatlas.errors import AtlasError

CHUNK_BYTES = 1 << 20
_FORBIDDEN_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
DEEPEST_JSON = 100  # lists and objects within each other; Python's own bound is too near to what printing one needs


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary neighbour of `path`, then move it into place in one step.

    If anything fails, the old file stays as it was and the temporary one is removed; one that a killed process left
    is removed by the next that writes the same file.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        with temporary.open("r+b") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
        _remove_orphans(path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        with contextlib.suppress(OSError):  # a read-only disk refuses even to remove what is not there
            temporary.unlink()


@contextlib.contextmanager
def others_write(folder: Path) -> Iterator[None]:
    """The same error where a library writes files into a folder by itself.

    Those written in Rust tell the system's error in words alone: `I/O error: No space left on device (os error 28)`.
    """
    try:
        yield
    except OSError as error:
        raise _cannot_write(folder, error) from error
    except Exception as error:
        told = re.search(r"\(os error (\d{1,4})\)", str(error))
        if told is None:
            raise
        raise _cannot_write(folder, OSError(int(told[1]), os.strerror(int(told[1])))) from error


def _remove_orphans(path: Path) -> None:
    if os.name != "posix":  # elsewhere asking whether a process lives would end it
        return
    for other in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with contextlib.suppress(OSError, ValueError, OverflowError):
            if not _is_alive(int(other.suffixes[-2][1:])):
                other.unlink()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically; what UTF-8 cannot carry is written as its escape."""
    write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8", errors="backslashreplace"))


def xml_text(text: str) -> str:
    """Markup, such as an SVG, with U+FFFD in place of every character that no XML file may hold."""
    return _FORBIDDEN_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def json_text(record: Any, indent: int | None = None) -> str:
    """A record as JSON for people to read, which `parse_json` takes back.

    The name of a file may hold bytes that are not UTF-8; Python reads each as half of a surrogate pair, which no JSON
    file can carry. They are written as their escapes, so the name reads back with a backslash in it.
    """
    text = json.dumps(record, indent=indent, ensure_ascii=False)
    return _SURROGATES.sub(lambda half: f"\\\\u{ord(half[0]):04x}", text)


def make_folder(path: Path) -> None:
    """Create a folder and its parents, with a clear error where that is impossible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AtlasError(f"{path}: cannot make this folder ({error.strerror}). {_remedy(error)}") from error


def own_subfolder(folder: Path, name: str) -> Path:
    """A folder within one of results, to write into. One that is a link is refused: it may lead anywhere.

    A folder of results may come from somebody else, and the names of what is written into it are known.
    """
    path = folder / name
    if path.is_symlink():
        raise AtlasError(f"{path}: is a link to another folder, so nothing is written there. Delete the link first.")
    return path


def sha256(path: Path) -> str:
    """The hexadecimal SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def safetensors_metadata(content: bytes) -> dict[str, str]:
    """The words that a safetensors file carries beside its tensors; KeyError or ValueError where it has none."""
    header = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return dict(header["__metadata__"])


def parse_json(text: str | bytes, make_object: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """What a JSON text holds; ValueError also where it nests too deep, or holds half of a surrogate pair."""
    try:
        found = json.loads(text, object_hook=make_object)
    except RecursionError as error:
        raise ValueError("it nests too deep") from error
    _refuse_depth(found)
    escapes = b"\\u" in text if isinstance(text, bytes) else "\\u" in text
    if escapes:  # which may write what UTF-8 cannot carry
        json.dumps(found, ensure_ascii=False).encode()
    return found


def _refuse_depth(found: Any) -> None:
    level = [found]
    for _ in range(DEEPEST_JSON):
        within = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [child for some in within for child in some if isinstance(child, dict | list)]
        if not level:
            return
    raise ValueError("it nests too deep")


def _cannot_write(path: Path, error: OSError) -> AtlasError:
    return AtlasError(f"{path}: cannot write ({error.strerror or error}). {_remedy(error)}")


def _remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "The disk is full: free some space and run the same command again; finished work is kept."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Choose a folder you may write to."
    return "Check the folder and run the same command again; finished work is kept."
