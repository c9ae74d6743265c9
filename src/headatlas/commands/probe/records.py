"""Finished jobs on disk, so that a run which was stopped goes on with the next; and the tables made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from headatlas.checksums import pack_json, unpack_json
from headatlas.commands.probe.jobs import Job, Record
from headatlas.errors import AtlasError
from headatlas.files import make_folder, write_text
from headatlas.results.schema import TABLES

FOLDER = "state"


def load_record(folder: Path, job: Job) -> Record | None:
    """What a job left, if it is finished."""
    path = _path(folder, job)
    if not path.exists():
        return None
    try:
        found = unpack_json(path.read_text(encoding="utf-8"))
        rows = {name: list(found[name]) for name in ("probes", "relations", "weights")}
        if not all(isinstance(row, dict) for some in rows.values() for row in some):
            raise ValueError("a row is no object")
        return Record(**rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AtlasError(f"{path}: cannot be read ({error}). Delete it and run the same command again.") from error


def save_record(folder: Path, job: Job, record: Record) -> None:
    """Keep what a job found."""
    make_folder(folder / FOLDER)
    write_text(_path(folder, job), pack_json(vars(record)))


def tables_of(records: Sequence[Record]) -> dict[str, pd.DataFrame]:
    """`probes`, and `probe_relations` and `probe_weights` where there are any."""
    rows = {
        "probes": [row for record in records for row in record.probes],
        "probe_relations": [row for record in records for row in record.relations],
        "probe_weights": [row for record in records for row in record.weights],
    }
    return {
        name: pd.DataFrame(some).reindex(columns=[column for column, _, _ in TABLES[name].columns])
        for name, some in rows.items()
        if some
    }


def _path(folder: Path, job: Job) -> Path:
    return folder / FOLDER / f"{job.name}.json"
