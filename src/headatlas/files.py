"""Writing files so that a reader never sees half of one, and hashing them."""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from headatlas.errors import AtlasError
from headatlas.progress import moved

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
    """Raise the same error if a library that writes into a folder by itself fails.

    Libraries in Rust give the system's error only as text: `I/O error: No space left on device (os error 28)`.
    """
    try:
        yield
    except OSError as error:
        raise _cannot_write(folder, error) from error
    except Exception as error:
        system_error = re.search(r"\(os error (\d{1,4})\)", str(error))
        if system_error is None:
            raise
        number = int(system_error[1])
        raise _cannot_write(folder, OSError(number, os.strerror(number))) from error


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
    """A folder within a folder of results, to write into. A link is refused: it may lead anywhere.

    A folder of results may come from somebody else, who knows the names of the files that we write.
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
            moved()
    return digest.hexdigest()


def installed_file(package: str, name: str) -> Path | None:
    """A file of a package that is installed, found without importing the package; None if it is not there."""
    try:
        path = Path(str(distribution(package).locate_file(name)))
    except PackageNotFoundError:
        return None
    return path if path.is_file() else None


def safetensors_metadata(content: bytes) -> dict[str, str]:
    """The metadata of a safetensors file; KeyError or ValueError if it has none."""
    header = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return dict(header["__metadata__"])


def parse_json(text: str | bytes, make_object: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Parse JSON; ValueError also if it nests too deep, or contains half of a surrogate pair."""
    try:
        value = json.loads(text, object_hook=make_object)
    except RecursionError as error:
        raise ValueError("it nests too deep") from error
    _refuse_depth(value)
    escapes = b"\\u" in text if isinstance(text, bytes) else "\\u" in text
    if escapes:  # which may write what UTF-8 cannot carry
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _refuse_depth(value: Any) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST_JSON):
        children = (item.values() if isinstance(item, dict) else item for item in level)
        level = [child for values in children for child in values if isinstance(child, dict | list)]
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
