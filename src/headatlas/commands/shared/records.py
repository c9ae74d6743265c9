"""Finished parts of a run on disk, so that a stopped run resumes with the next part; and the tables made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from headatlas.checksums import pack_json, unpack_json
from headatlas.errors import AtlasError
from headatlas.files import make_folder, write_text
from headatlas.results.tables import TABLES

FOLDER = "state"
Rows = list[dict[str, Any]]
RecordT = TypeVar("RecordT")


def load_record(folder: Path, name: str, record_class: type[RecordT]) -> RecordT | None:
    """Read the record of a finished part, a dataclass of rows; None if the part is not finished."""
    path = folder / FOLDER / f"{name}.json"
    if not path.exists():
        return None
    try:
        content = unpack_json(path.read_text(encoding="utf-8"))
        return record_class(**{field.name: content[field.name] for field in fields(record_class)})  # type: ignore[arg-type]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AtlasError(f"{path}: cannot be read ({error}). Delete it and run the same command again.") from error


def save_record(folder: Path, name: str, record: object) -> None:
    """Save what a part of a run found."""
    make_folder(folder / FOLDER)
    write_text(folder / FOLDER / f"{name}.json", pack_json(vars(record)))


def make_tables(rows: Mapping[str, Sequence[dict[str, Any]]]) -> dict[str, pd.DataFrame]:
    """Make tables with their declared columns; tables without rows are omitted."""
    return {name: TABLES[name].from_rows(rows_of_table) for name, rows_of_table in rows.items() if rows_of_table}
