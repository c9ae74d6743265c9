"""Tables of texts: with a label, on which a classifier is trained and scored, or with a translation."""

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
    """Read all examples of the files.

    columns: the names of the column of the text, of the second text if there are pairs, and of the label, in this
    order; by default `text`, `text2` if the file has it, and `label`.
    """
    if columns is not None and len(columns) not in (2, 3):
        raise SettingError(
            f"--columns {','.join(columns)}: name two columns (text, label) or three (text, text, label)."
        )
    examples: list[LabelledText] = []
    for file, path in enumerate(paths):
        names = columns or _default_columns(path)
        for number, row in enumerate(read_rows(path, names)):
            *texts, label = (cell.strip() for cell in row.cells)
            if not all(texts):
                raise CorpusError("has an empty text. Remove the row, or fill it.", path, row.line)
            if not label:
                raise CorpusError("has no label. Remove the row, or fill it.", path, row.line)
            if examples and len(texts) != len(examples[0].texts):
                raise CorpusError("mixes pairs of texts with single texts of other files. Name --columns.", path)
            examples.append(LabelledText(f"{file}.{number}", path, row.line, tuple(texts), label))
    return examples


def _default_columns(path: Path) -> list[str]:
    return ["text", "text2", "label"] if "text2" in columns_of(path) else ["text", "label"]


@dataclass(frozen=True)
class Translation:
    """A text and its translation."""

    id: str  # "file.row", each from 0 in reading order
    source: str
    target: str


def read_translations(paths: Iterable[Path], columns: Sequence[str] | None = None) -> list[Translation]:
    """Read all translations of the files; columns: by default `source` and `target`."""
    if columns is not None and len(columns) != 2:
        raise SettingError(f"--columns {','.join(columns)}: name two columns, source and target.")
    translations = []
    for file, path in enumerate(paths):
        for number, row in enumerate(read_rows(path, columns or ("source", "target"))):
            source, target = (cell.strip() for cell in row.cells)
            if not source or not target:
                raise CorpusError("has an empty source or target. Remove the row, or fill it.", path, row.line)
            translations.append(Translation(f"{file}.{number}", source, target))
    return translations
