"""Finished tasks on disk, so that a stopped run goes on and a folder can take in more; the tables made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headatlas.checksums import pack_json, unpack_json
from headatlas.commands.layers.jobs import Record, Weights
from headatlas.commands.layers.replicates import interval
from headatlas.errors import AtlasError
from headatlas.files import make_folder, write_text
from headatlas.results.schema import TABLES
from headatlas.statistics.layer_measures import share_below

FOLDER = "state"


def load_record(folder: Path, task: str, weights: Weights) -> Record | None:
    """What a task left, if it is finished."""
    path = _path(folder, task, weights)
    if not path.exists():
        return None
    try:
        found = unpack_json(path.read_text(encoding="utf-8"))
        return Record(**{one.name: found[one.name] for one in fields(Record)})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AtlasError(f"{path}: cannot be read ({error}). Delete it and run the same command again.") from error


def save_record(folder: Path, task: str, weights: Weights, record: Record) -> None:
    """Keep what a task found."""
    make_folder(folder / FOLDER)
    write_text(_path(folder, task, weights), pack_json(vars(record)))


def tables_of(records: Sequence[Record]) -> dict[str, pd.DataFrame]:
    """The tables of all tasks; those without rows are left away."""
    names = ("layer_mix", "layer_summary", "layer_examples", "head_mix")
    rows = {name: [row for record in records for row in getattr(record, name)] for name in names}
    rows["layer_order"] = order_rows(records)
    return {
        name: pd.DataFrame(some).reindex(columns=[column for column, _, _ in TABLES[name].columns])
        for name, some in rows.items()
        if some
    }


def order_rows(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Every two tasks by each measure, the lower one first; of the network as it was trained."""
    summaries = [
        (row, record.drawn[row["mix"]])
        for record in records
        for row in record.layer_summary
        if row["weights"] == "pretrained"
    ]
    rows = []
    for (first, drawn), (second, others) in permutations(summaries, 2):
        for measure in drawn:
            difference = second[measure] - first[measure]
            tied = difference == 0 and first["task"] < second["task"]
            if first["mix"] != second["mix"] or not (difference > 0 or tied):
                continue
            low_ends, high_ends = (np.array(some[measure], dtype=np.float64) for some in (drawn, others))
            share, count = share_below(low_ends, high_ends)
            low, high = interval(high_ends - low_ends)
            rows.append(
                {
                    "measure": measure,
                    "mix": first["mix"],
                    "below": first["task"],
                    "above": second["task"],
                    "difference": difference,
                    "low": low,
                    "high": high,
                    "share": share,
                    "count": count,
                }
            )
    return rows


def _path(folder: Path, task: str, weights: Weights) -> Path:
    return folder / FOLDER / f"{task}-{weights}.json"
