"""Corpus files: whether they exist, what manifests record of them, and their lines, plain or gzipped, within bounds."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, TypeVar

from headatlas.errors import CorpusError, SettingError
from headatlas.files import sha256
from headatlas.limits import LARGEST_RECORD, LONGEST_LINE, RAISE
from headatlas.progress import moved
from headatlas.remote import fetch_file, is_url, origin_of

Files = str | Path | Iterable[str | Path]
Item = TypeVar("Item")
Block = list[tuple[int, str]]  # the number of each line, from 1, and the line without its break
_LINES = 1000  # between two reports to the progress display
PARTS = ("train", "eval")
FORCE_OR_ANOTHER = "Give another file with --eval, or --force if that is what you want."


def find_files(given: Files, corpus: str, folders: bool = False) -> list[Path]:
    """The files that the option `corpus` names, or folders if these are allowed; those at URLs are fetched.

    In place of files of text, Python callers may give the documents themselves, which are written to a file.
    """
    from headatlas.corpora.documents import documents_in, write_documents  # which read text, as this module lets them

    if corpus == "text" and (documents := documents_in(given)) is not None:
        return [write_documents(documents)]
    paths = [given] if isinstance(given, (str, Path)) else given
    files = [fetch_file(path) if is_url(path) else Path(path) for path in paths]
    if not files:
        raise SettingError(f"No {corpus} file is given. Name at least one with --{corpus}.")
    for path in files:
        try:
            fits = path.is_file() or (folders and path.is_dir())
            problem = "" if fits else "is a folder" if path.is_dir() else "no such file"
        except OSError as error:
            raise CorpusError(f"is not a valid path ({error.strerror or error}). Give a file.", path) from error
        if problem:
            what = "a file, a folder or a zip" if folders else "a file, plain or gzipped"
            raise CorpusError(f"{problem}. Give {what}.", path)
    return files


def each_once(paths: Iterable[Path], parts: str) -> Iterator[tuple[int, Path]]:
    """Number the files, and raise if one is named twice: the ids of its parts ("sentences") would not be unique."""
    seen = set()
    for number, path in enumerate(paths):
        if path in seen:
            raise CorpusError(f"is given twice, so its {parts} would have the same ids. Name it once.", path)
        seen.add(path)
        yield number, path


def describe_files(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Name, size and SHA-256 of each file, or of a folder's files together."""
    return [_describe(path) for path in files]


def _describe(path: Path) -> dict[str, Any]:
    try:
        if not path.is_dir():
            return {"file": origin_of(path), "bytes": path.stat().st_size, "sha256": sha256(path)}
        files = sorted(file for file in path.rglob("*") if file.is_file())
        digest = hashlib.sha256()
        for file in files:
            digest.update(f"{file.relative_to(path).as_posix()} {sha256(file)}\n".encode("utf-8", "surrogateescape"))
        return {"file": str(path), "bytes": sum(file.stat().st_size for file in files), "sha256": digest.hexdigest()}
    except OSError as error:
        raise cannot_read(path, error) from error


def name_files(records: Sequence[Mapping[str, Any]]) -> str:
    """The names of files that `describe_files` recorded, in a few words."""
    names = [Path(record["file"]).name for record in records]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more files"


def refuse_same_files(files: Mapping[str, Sequence[Path]], remedy: str) -> None:
    """Raise if a file is used both to train and to score. remedy: what to do about it."""
    if set(files) != set(PARTS):
        return
    records = {part: {record["sha256"]: record["file"] for record in describe_files(files[part])} for part in PARTS}
    for digest in set(records["train"]) & set(records["eval"]):
        raise SettingError(
            f"{records['eval'][digest]} is also a training file, so its scores would measure memorised sentences. "
            f"{remedy}"
        )


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Stream the lines with their numbers, from 1, and line breaks."""
    try:
        with open_bytes(path) as file:
            yield from lines_in(file, path)
    except OSError as error:
        raise cannot_read(path, error) from error


def lines_in(file: IO[bytes] | gzip.GzipFile, path: Path) -> Iterator[tuple[int, str]]:
    """The same for an open file; path: how errors name it."""
    number = 0
    try:
        while raw := file.readline(LONGEST_LINE + 1):
            number += 1
            if number % _LINES == 0:
                moved()
            yield number, _decode(raw, path, number)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problem = f"the compressed data are damaged or cut short ({error}). Fetch the file again."
        raise CorpusError(problem, path, number + 1) from error


def cannot_read(path: Path, error: OSError) -> CorpusError:
    """The error for a file that the system does not let us read."""
    return CorpusError(f"cannot be read ({error.strerror or error}). Check the path.", path)


def too_large(what: str, most: str, remedy: str, path: Path, line: int | None = None) -> CorpusError:
    """The error for anything beyond a bound: "has more than 1,000 bytes"."""
    return CorpusError(f"{what} more than {most}. {remedy} {RAISE}", path, line)


def at_least_one(items: Iterable[Item], problem: str, path: Path) -> Iterator[Item]:
    """Pass on what a file contains; the problem is raised if that is nothing."""
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        raise CorpusError(problem, path)


class Extent:
    """Counts the characters of one record or document, and raises if they are too many to keep in memory."""

    def __init__(self, path: Path, most: int, remedy: str) -> None:
        self._path, self._most, self._remedy = path, most, remedy
        self._size, self._start = 0, 0

    def restart(self) -> None:
        """Begin with the next record."""
        self._size = 0

    def add(self, number: int, line: str) -> None:
        """Count one more line of the record."""
        self._start = number if self._size == 0 else self._start
        self._size += len(line)
        if self._size > self._most:
            raise too_large(
                "begins a record of", f"{self._most:,} characters", self._remedy, self._path, line=self._start
            )


def read_blocks(path: Path) -> Iterator[Block]:
    """Stream the runs of lines between empty lines."""
    block: Block = []
    extent = Extent(path, LARGEST_RECORD, "Put an empty line between sentences.")
    for number, raw in read_lines(path):
        if raw.strip():
            extent.add(number, raw)
            block.append((number, raw.rstrip("\r\n")))
        elif block:
            yield block
            block = []
            extent.restart()
    if block:
        yield block


@contextmanager
def open_bytes(path: Path) -> Iterator[BufferedReader | gzip.GzipFile]:
    """Open a file, unzipped if it is gzipped. It is opened only once, since a pipe cannot be opened twice."""
    with path.open("rb") as file:
        zipped = file.peek(2).startswith(b"\x1f\x8b")
        yield gzip.GzipFile(fileobj=file) if zipped else file


def _decode(raw: bytes, path: Path, number: int) -> str:
    if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise CorpusError("is UTF-16. Convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW.", path, number)
    if b"\0" in raw:
        raise CorpusError("contains zero bytes, so it is a binary file. Give plain text.", path, number)
    if len(raw) > LONGEST_LINE:
        remedy = "Put one sentence or paragraph on each line (for example: fold -s -w 2000 FILE > NEW)."
        raise too_large("has", f"{LONGEST_LINE:,} bytes", remedy, path, number)
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"is not UTF-8 (byte {error.start + 1} of the line is 0x{raw[error.start]:02x}). "
            "Convert it: iconv -f LATIN1 -t UTF-8 FILE > NEW (or from whichever encoding it has).",
            path,
            number,
        ) from error
