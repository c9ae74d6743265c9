"""The lines of a corpus file: UTF-8, plain or gzipped. Errors name file and line.

A file may be of any size, but only a bounded part of it is in memory at once (see `limits`).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, TypeVar

from headatlas.errors import CorpusError
from headatlas.limits import LARGEST_RECORD, LONGEST_LINE, RAISE

Item = TypeVar("Item")
Block = list[tuple[int, str]]
"""The number of each line, from 1, and the line without its break."""


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
