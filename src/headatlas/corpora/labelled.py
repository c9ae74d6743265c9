"""Texts, or pairs of texts, with a label: what a classifier is trained and scored on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headatlas.corpora.rows import columns_of, read_rows
from headatlas.errors import CorpusError, SettingError


@dataclass(frozen=True)
class LabelledText:
    """One example of a classification task."""

    id: str  # "file.row", each from 0 in reading order
    path: Path
    line: int  # from 1
    texts: tuple[str, ...]  # one, or two
    label: str


def read_labelled(paths: Iterable[Path], columns: Sequence[str] | None = None) -> list[LabelledText]:
    """All examples of the files.

    columns: the names of the text's column, of the second text's where there are pairs, and of the label's, in this
    order; by default `text`, `text2` where the file has it, and `label`.
    """
    if columns is not None and len(columns) not in (2, 3):
        raise SettingError(
            f"--columns {','.join(columns)}: name two columns (text, label) or three (text, text, label)."
        )
    found: list[LabelledText] = []
    for file, path in enumerate(paths):
        names = columns or _usual(path)
        for number, row in enumerate(read_rows(path, names)):
            *texts, label = (cell.strip() for cell in row.cells)
            if not all(texts):
                raise CorpusError("has an empty text. Remove the row, or fill it.", path, row.line)
            if not label:
                raise CorpusError("has no label. Remove the row, or fill it.", path, row.line)
            if found and len(texts) != len(found[0].texts):
                raise CorpusError("some files have pairs of texts and some single ones. Name --columns.", path)
            found.append(LabelledText(f"{file}.{number}", path, row.line, tuple(texts), label))
    return found


def _usual(path: Path) -> list[str]:
    return ["text", "text2", "label"] if "text2" in columns_of(path) else ["text", "label"]
