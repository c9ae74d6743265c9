"""Minimal pairs: an acceptable sentence and one that differs from it in a single point (Warstadt et al. 2020).

BLiMP's format: JSON lines with `sentence_good` and `sentence_bad`, plain, gzipped, or in a zip.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from headatlas.corpora.archives import DAMAGED, open_zip
from headatlas.corpora.files import lines_in, too_large
from headatlas.corpora.rows import Row, json_row, read_rows
from headatlas.errors import CorpusError, SettingError, printable
from headatlas.limits import LARGEST_MEMBER

COLUMNS = ("sentence_good", "sentence_bad")


@dataclass(frozen=True)
class MinimalPair:
    """Two sentences, the better one first."""

    id: str  # "set.row": the name of the file, and rows from 0
    good: str
    bad: str


def read_minimal_pairs(paths: Iterable[Path], sets: Sequence[str] | None = None) -> list[MinimalPair]:
    """Read all pairs of the files; only those of the named sets if `sets` is given."""
    pairs: dict[str, list[MinimalPair]] = {}
    for path in paths:
        for name, rows in _sets(path):
            if name in pairs:
                raise CorpusError(f"contains the set {name} a second time. Name it once.", path)
            wanted = sets is None or name in sets
            pairs[name] = [_pair(name, number, row) for number, row in enumerate(rows)] if wanted else []
    if unknown := set(sets or ()) - set(pairs):
        raise SettingError(f"--sets {', '.join(sorted(unknown))}: no such set. Use one of: {', '.join(sorted(pairs))}.")
    return [pair for pairs_of_set in pairs.values() for pair in pairs_of_set]


def _sets(path: Path) -> Iterator[tuple[str, Iterable[Row]]]:
    if not zipfile.is_zipfile(path):
        yield printable(path.name.removesuffix(".gz").removesuffix(".jsonl")), read_rows(path, COLUMNS)
        return
    with open_zip(path) as archive:
        members = [name for name in sorted(archive.namelist()) if name.endswith(".jsonl")]
        if not members:
            raise CorpusError("the zip contains no .jsonl file. Give a zip as BLiMP distributes it.", path)
        for member in members:
            yield printable(PurePosixPath(member).stem), _member_rows(archive, member, path)


def _member_rows(archive: zipfile.ZipFile, member: str, path: Path) -> Iterator[Row]:
    inside = path / member
    try:
        if archive.getinfo(member).file_size > LARGEST_MEMBER:
            raise too_large("unpacks to", f"{LARGEST_MEMBER:,} bytes", "Split the file.", inside)
        with archive.open(member) as file:
            for number, line in lines_in(file, inside):
                if line.strip():
                    yield json_row(line, inside, number, COLUMNS)
    except DAMAGED as error:
        raise CorpusError(f"cannot be read from the zip ({error}). Fetch it again.", inside) from error


def _pair(name: str, number: int, row: Row) -> MinimalPair:
    good, bad = row.cells
    if not good.strip() or not bad.strip() or good == bad:
        raise CorpusError("needs two different sentences. Correct or remove the line.", row.path, row.line)
    return MinimalPair(f"{name}.{number}", good, bad)
