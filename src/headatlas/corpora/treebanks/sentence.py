"""Sentences with a dependency tree: what every treebank reader gives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = -1  # in `heads`: the word is the root of its sentence


@dataclass(frozen=True)
class Sentence:
    """Words, each with its head and the relation to it."""

    id: str  # "file.document.sentence", each from 0 in reading order
    path: Path
    line: int  # of the first word, from 1
    words: tuple[str, ...]
    heads: tuple[int, ...]  # index of each word's head, from 0, or ROOT
    relations: tuple[str, ...]
    tags: tuple[str, ...]  # part of speech of each word as the file gives it, "" where it does not

    @property
    def document(self) -> str:
        """The id of its document: "file.document"."""
        return self.id.rpartition(".")[0]
