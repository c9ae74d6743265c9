"""Tables of text with named columns: TSV, CSV and JSON lines, UTF-8, plain or gzipped.

TSV has no quoting: a quotation mark is text. CSV is quoted as in spreadsheets. The first line of both names the
columns.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headatlas.corpora.files import Extent, at_least_one, read_lines
from headatlas.errors import CorpusError
from headatlas.files import parse_json
from headatlas.limits import LARGEST_RECORD

SUFFIXES = (".tsv", ".csv", ".jsonl")


@dataclass(frozen=True)
class Row:
    """The requested cells of a row, and its place."""

    path: Path
    line: int  # of the file, from 1
    cells: tuple[str, ...]


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """Stream the named columns of a file. Its suffix, .gz aside, tells the format."""
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    suffix = suffixes[-1].lower() if suffixes else ""
    if suffix not in SUFFIXES:
        raise CorpusError(f"has an unknown suffix. End its name in {', '.join(SUFFIXES)}.", path)
    rows = _json_rows(path, columns) if suffix == ".jsonl" else _table_rows(path, columns, suffix)
    yield from at_least_one(rows, "has no rows. Give a file with at least one.", path)


def columns_of(path: Path) -> list[str]:
    """The columns that the first line of a file names, or that its first object has."""
    if ".jsonl" in path.suffixes:
        return next((list(json_object(line, path, number)) for number, line in read_lines(path) if line.strip()), [])
    return next((cells for _, cells in (_tsv_cells(path) if ".tsv" in path.suffixes else _csv_cells(path))), [])


def _table_rows(path: Path, columns: Sequence[str], suffix: str) -> Iterator[Row]:
    places: list[int] = []
    width = 0
    for number, cells in _tsv_cells(path) if suffix == ".tsv" else _csv_cells(path):
        if not places:
            places, width = [_place(column, cells, path) for column in columns], len(cells)
        elif len(cells) != width:
            raise CorpusError(
                f"has {len(cells)} columns, but the first line names {width}. Correct the row.", path, number
            )
        else:
            yield Row(path, number, tuple(cells[place] for place in places))


def _tsv_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in read_lines(path):
        if line.strip():
            yield number, line.rstrip("\r\n").split("\t")


def _csv_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    extent = Extent(path, LARGEST_RECORD, "A quotation mark is open: close it, or double those that are text.")

    def lines() -> Iterator[str]:
        for number, line in read_lines(path):
            extent.add(number, line)
            yield line

    reader = csv.reader(lines(), strict=True)
    start = 1
    try:
        for cells in reader:
            extent.restart()
            if cells:
                yield start, cells
            start = reader.line_num + 1
    except csv.Error as error:
        raise CorpusError(
            f"is not valid CSV ({error}). Quote cells that contain commas or quotes.", path, start
        ) from error


def _place(column: str, names: Sequence[str], path: Path) -> int:
    if column not in names:
        raise CorpusError(f"has no column {column!r}. It has: {', '.join(names)}. Name them with --columns.", path, 1)
    return list(names).index(column)


def _json_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    for number, line in read_lines(path):
        if line.strip():
            yield json_row(line, path, number, columns)


def json_row(line: str, path: Path, number: int, columns: Sequence[str]) -> Row:
    """The named values of a JSON object; numbers become text."""
    record = json_object(line, path, number)
    for column in columns:
        if not isinstance(record.get(column), str | int):
            raise CorpusError(f"has no text {column!r}. It has: {', '.join(record)}.", path, number)
    return Row(path, number, tuple(str(record[column]) for column in columns))


def json_object(line: str, path: Path, number: int) -> dict[str, object]:
    """The JSON object on a line."""
    try:
        record = parse_json(line)
    except ValueError as error:
        raise CorpusError(f"is not valid JSON ({error}). Put one object {{...}} on each line.", path, number) from error
    if not isinstance(record, dict):
        raise CorpusError("is not a JSON object. Put one object {...} on each line.", path, number)
    return record
