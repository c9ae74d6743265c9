"""Minimal pairs: an acceptable sentence beside one that differs from it in a single point (Warstadt et al. 2020).

BLiMP's format: JSON lines with `sentence_good` and `sentence_bad`, plain, gzipped, or all files of its zip.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from headatlas.corpora.archives import DAMAGED, open_zip
from headatlas.corpora.lines import lines_in
from headatlas.corpora.rows import Row, json_row, read_rows
from headatlas.errors import CorpusError, SettingError, printable
from headatlas.limits import LARGEST_MEMBER, RAISE

COLUMNS = ("sentence_good", "sentence_bad")


@dataclass(frozen=True)
class MinimalPair:
    """Two sentences, the better one first."""

    id: str  # "set.row", the set by its file's name, rows from 0
    good: str
    bad: str


def read_minimal_pairs(paths: Iterable[Path], sets: Sequence[str] | None = None) -> list[MinimalPair]:
    """All pairs of the files; of a zip, those of the sets named, by default of all."""
    found: dict[str, list[MinimalPair]] = {}
    for path in paths:
        for name, rows in _sets(path):
            if name in found:
                raise CorpusError(f"brings the set {name} a second time. Name it once.", path)
            if sets is None or name in sets:
                found[name] = [_pair(name, number, row) for number, row in enumerate(rows)]
            else:
                found.setdefault(name, [])
    if unknown := set(sets or ()) - set(found):
        raise SettingError(f"--sets {', '.join(sorted(unknown))}: no such set. There are: {', '.join(sorted(found))}.")
    return [pair for pairs in found.values() for pair in pairs]


def _sets(path: Path) -> Iterator[tuple[str, Iterable[Row]]]:
    if not zipfile.is_zipfile(path):
        yield printable(path.name.removesuffix(".gz").removesuffix(".jsonl")), read_rows(path, COLUMNS)
        return
    with open_zip(path) as archive:
        members = [name for name in sorted(archive.namelist()) if name.endswith(".jsonl")]
        if not members:
            raise CorpusError("the zip holds no .jsonl file.", path)
        for member in members:
            yield printable(PurePosixPath(member).stem), _member_rows(archive, member, path)


def _member_rows(archive: zipfile.ZipFile, member: str, path: Path) -> Iterator[Row]:
    inside = path / member
    try:
        if archive.getinfo(member).file_size > LARGEST_MEMBER:
            raise CorpusError(f"unpacks to more than {LARGEST_MEMBER:,} bytes. {RAISE}", inside)
        with archive.open(member) as file:
            for number, line in lines_in(file, inside):
                if line.strip():
                    yield json_row(line, inside, number, COLUMNS)
    except DAMAGED as error:
        raise CorpusError(f"cannot be read from the zip ({error}). Fetch it again.", inside) from error


def _pair(name: str, number: int, row: Row) -> MinimalPair:
    good, bad = row.cells
    if not good.strip() or not bad.strip() or good == bad:
        raise CorpusError("needs two different sentences.", row.path, row.line)
    return MinimalPair(f"{name}.{number}", good, bad)
