"""Texts and their translations: two columns of a TSV, CSV or JSON lines file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headatlas.corpora.rows import read_rows
from headatlas.errors import CorpusError, SettingError


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
