"""Word vectors from files: GloVe text, and word2vec text and binary, plain or gzipped. Nothing is executed.

- GloVe text: ``word number number ...`` a line;
- word2vec text: the same after a line ``words width`` (fastText's ``.vec`` files are such);
- word2vec binary: after that line, each word, a space, and its numbers as little-endian float32.

Which of them a file is, its beginning tells.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Container, Iterator
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headatlas.corpora.lines import open_bytes, read_lines
from headatlas.errors import CorpusError

Vector = NDArray[np.float32]

WIDEST = 1 << 14
_CHUNK_BYTES = 1 << 22
_LONGEST_WORD = 1 << 14  # bytes
_REMEDY = "Give GloVe text, or word2vec text or binary."


def read_vector_file(path: Path, wanted: Container[str]) -> Iterator[tuple[str, Vector]]:
    """The vectors of the words that are wanted, in the file's order; every line's width is checked."""
    if not path.is_file():
        raise CorpusError("no such file of word vectors. Check the path, or give glove-6b-50d.", path)
    header = _header(path)
    if header is None:
        return _read_text(path, wanted, None)
    return _read_binary(path, wanted, header) if _is_binary(path, header[1]) else _read_text(path, wanted, header)


def _beginning(path: Path, size: int) -> bytes:
    try:
        with open_bytes(path) as file:
            return file.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"cannot be read ({error}). Check the file.", path) from error


def _header(path: Path) -> tuple[int, int] | None:
    """Words and width, where the first line is word2vec's."""
    fields = _beginning(path, 64).partition(b"\n")[0].split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    words, width = map(int, fields)
    if not 1 <= width <= WIDEST:
        raise CorpusError(f"says that its vectors have {width} numbers. {_REMEDY}", path, 1)
    return words, width


def _is_binary(path: Path, width: int) -> bool:
    """Whether what follows the header is no line of a word and its numbers."""
    line = _beginning(path, 64 + 64 * width + _LONGEST_WORD).partition(b"\n")[2].partition(b"\n")[0]
    try:
        return len([float(field) for field in line.decode("utf-8").split(" ")[-width:] if field]) < min(2, width)
    except (UnicodeDecodeError, ValueError):
        return True


def _read_text(path: Path, wanted: Container[str], header: tuple[int, int] | None) -> Iterator[tuple[str, Vector]]:
    width = header[1] if header else 0
    lines = 0
    for number, line in read_lines(path):
        if header and number == 1:
            continue
        lines += 1
        text = line.rstrip(" \r\n")
        width = width or text.count(" ")
        if not 1 <= width <= WIDEST:
            raise CorpusError(f"is no word with 1 to {WIDEST:,} numbers. {_REMEDY}", path, number)
        word, *numbers = text.rsplit(" ", width)
        if len(numbers) < width or (_is_number(word.rpartition(" ")[2]) and " " in word):
            raise CorpusError(
                f"has {text.count(' ')} numbers, the lines before {width}: the vectors are of mixed width, or the "
                "file is damaged. Fetch it again.",
                path,
                number,
            )
        if word in wanted:
            yield word, _vector(numbers, path, number)
    if not lines or (header and header[0] != lines):
        promised = f"{header[0]:,}" if header else "some"
        raise CorpusError(f"holds {lines:,} vectors, not {promised}: it was cut short. Fetch it again.", path)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _vector(numbers: list[str], path: Path, line: int) -> Vector:
    try:
        vector = np.array(numbers, dtype=np.float64).astype(np.float32)
    except ValueError as error:
        raise CorpusError(f"holds something that is no number ({error}). {_REMEDY}", path, line) from error
    return _finite(vector, path, line)


def _finite(vector: Vector, path: Path, line: int) -> Vector:
    if not np.isfinite(vector).all():
        raise CorpusError("holds a number that is not finite. Fetch the file again.", path, line)
    return vector


def _read_binary(path: Path, wanted: Container[str], header: tuple[int, int]) -> Iterator[tuple[str, Vector]]:
    """Vectors one after another; `line` in an error counts them, with the header as the first."""
    words, width = header
    try:
        with open_bytes(path) as file:
            file.readline(64)
            buffer, start = b"", 0
            for number in range(2, words + 2):
                while (space := buffer.find(b" ", start)) < 0 or space + 1 + 4 * width > len(buffer):
                    buffer, start = _filled(file, buffer[start:], space >= 0, path, number), 0
                word = buffer[start:space].lstrip(b"\n")
                start = space + 1 + 4 * width
                name = _decoded(word, path, number)
                if name in wanted:
                    vector = np.frombuffer(buffer, dtype="<f4", count=width, offset=space + 1).astype(np.float32)
                    yield name, _finite(vector, path, number)
    except (OSError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(f"cannot be read ({error}). Fetch the file again.", path) from error


def _filled(file: BufferedReader | gzip.GzipFile, rest: bytes, has_word: bool, path: Path, number: int) -> bytes:
    more = file.read(_CHUNK_BYTES)
    if not more or (not has_word and len(rest) > _LONGEST_WORD):
        raise CorpusError("ends or loses its form before the last vector. Fetch the file again.", path, number)
    return rest + more


def _decoded(word: bytes, path: Path, number: int) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(
            "names a word that is not UTF-8: the file is damaged, or its width is not the one its first line says.",
            path,
            number,
        ) from error
