"""How far two atlases differ, in every number they share: B - A, with intervals where there are bootstrap replicates.

Heads are compared one by one if both models have the same heads in every layer, means over a layer if they have the
same number of layers, and means over all heads always. If ``paired``, replicate r of both atlases weights the units of
the corpus alike, so what the two models have in common on a text cancels out of the difference. Otherwise the two
samples are independent (see `statistics.drawn`, which also has the tests).

The bootstrap gives each unit of a corpus weights that depend on its id and the seed alone. Two surveys are ``paired``
if both resampled documents, or both inputs, and the same id means the same unit:

- a document, and a sentence of a treebank, are what the file says they are, whatever the tokenizer; if one model's
  tokenizer makes a sentence too long for it, that sentence counts for the other alone;
- a segment is cut by the tokenizer. Two tokenizers cut different segments that have the same id, so segments are
  paired only if they are the same: the same number of segments and tokens, and the same numbers left out and cut, for
  each reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.commands.compare.tables import DIFFERENCES
from headatlas.commands.survey.reopen import not_installed, reopen_studies
from headatlas.engine.corpora import KINDS
from headatlas.engine.job import Failures, attempt
from headatlas.errors import AtlasError, PluginError
from headatlas.progress import moved
from headatlas.results.atlas import Atlas, open_atlas
from headatlas.results.tables import TABLES
from headatlas.statistics.drawn import Drawn
from headatlas.studies.study import Study
from headatlas.tables import Table

Manifest = Mapping[str, Any]
_NEEDED = {"model": ("name", "heads", "attention"), "settings": ("seed",), "corpora": (), "tables": ()}
_NO_MATTER = frozenset({"model", "weights", "random_weights", "attention", "batch_tokens", "corpora", "studies"})
ROUNDING = 1e-6  # a difference as small as this is what is left of the order of sums, and not tested
Array = NDArray[np.float64]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Side:
    """What is compared of one atlas."""

    tables: Mapping[str, pd.DataFrame]
    replicates: Mapping[str, Array]  # table, or table/value where that is not the table's main one -> [R, rows]
    heads: tuple[int, ...]  # of each layer
    units: Mapping[str, float] = field(default_factory=dict)  # corpus -> `resampled_equal`, see `Corpus`


def open_side(folder: str | Path) -> Atlas:
    """Open a finished survey whose manifest says what a comparison needs."""
    atlas = open_atlas(folder)
    manifest = atlas.manifest
    for part, names in _NEEDED.items():
        about = manifest.get(part)
        if not isinstance(about, dict) or any(name not in about for name in names):
            raise AtlasError(
                f"{atlas.folder / 'manifest.json'}: the survey's {part} is missing or incomplete, so it cannot be "
                "compared. Survey again."
            )
    return atlas


def side_of(atlas: Atlas) -> tuple[Side, str | None]:
    """The tables and replicates of an atlas; and why some replicates are missing, if they are."""
    replicates: dict[str, NDArray[np.float64]] = {}
    missing = not_installed(atlas.manifest)
    problem = f"its study {', '.join(missing)} is not installed here." if missing else None
    failures: Failures = {}
    try:
        for study in reopen_studies(atlas):
            moved()
            unit, about = KINDS[study.corpus].unit, atlas.manifest["corpora"][study.corpus]
            if about.get(f"{unit}s") == 1:
                problem = f"its {study.corpus} is a single {unit}, so there is nothing to resample."
            else:
                attempt(study.name, study, failures, partial(_add_replicates, study, replicates))
    except (AtlasError, PluginError) as error:
        problem = str(error)
    if failures:
        problem = "; ".join(f"the replicates of {name} failed: {failure}" for name, failure in failures.items())
    tables = atlas.tables
    for key, drawn in replicates.items():
        name = key.partition("/")[0]
        if name in tables and drawn.shape[1] != len(tables[name]):
            raise AtlasError(
                f"{atlas.folder}: the table {name} has {len(tables[name])} rows, but the sums in state/ have "
                f"{drawn.shape[1]}. One of them was changed; survey again."
            )
    corpora = atlas.manifest["corpora"]
    units = {name: corpora[name]["resampled_equal"] for name in corpora if "resampled_equal" in corpora[name]}
    return Side(tables, replicates, tuple(atlas.manifest["model"]["heads"]), units), problem


def _add_replicates(study: Study, replicates: dict[str, Array]) -> None:
    replicates |= study.replicates()


def same_files(corpus: str, a: Manifest, b: Manifest) -> bool:
    """Whether both were surveyed on the same files, in the same order."""
    hashes = [[record["sha256"] for record in side["corpora"][corpus]["files"]] for side in (a, b)]
    return hashes[0] == hashes[1]


def paired(corpus: str, a: Manifest, b: Manifest) -> bool:
    """Whether bootstrap replicates of both give the same units the same weights."""
    if corpus not in KINDS or not same_files(corpus, a, b):
        return False
    before, after = _flat_settings(a), _flat_settings(b)
    if any(before.get(name) != after.get(name) for name in ("seed", *KINDS[corpus].read_by)):
        return False
    by_a, by_b = (side["corpora"][corpus].get("resampled_by") for side in (a, b))
    if by_a != by_b:
        return False
    by_id = by_a == "document" or KINDS[corpus].unit != "segment"
    return by_id or _apart_from_files(corpus, a) == _apart_from_files(corpus, b)


def differing_settings(a: Manifest, b: Manifest) -> dict[str, list[Any]]:
    """Settings that differ and may affect the tables: name -> of A, of B."""
    before, after = _flat_settings(a), _flat_settings(b)
    return {
        name: [before.get(name), after.get(name)]
        for name in sorted({*before, *after} - _NO_MATTER)
        if before.get(name) != after.get(name)
    }


def _flat_settings(manifest: Manifest) -> dict[str, Any]:
    """Return the settings of a survey, with the format of each kind of corpus as a setting by itself."""
    settings = dict(manifest["settings"])
    return settings | {f"{kind}_format": name for kind, name in settings.pop("format", {}).items()}


def _apart_from_files(corpus: str, manifest: Manifest) -> dict[str, Any]:
    return {name: value for name, value in manifest["corpora"][corpus].items() if name not in ("files", "unknown")}


def scopes(table: Table, a: Side, b: Side) -> dict[str, tuple[str, ...]]:
    """The ways in which a table's rows can be compared between two models: name -> columns.

    The mean is taken over rows of each side that have the same values in these columns and the table's keys.
    """
    if table.rows != "heads":
        return {"best" if table.rows == "best" else "row": ()}
    levels: dict[str, tuple[str, ...]] = {"head": ("layer", "head"), "layer": ("layer",), "model": ()}
    same = {"head": a.heads == b.heads, "layer": len(a.heads) == len(b.heads), "model": True}
    return {name: columns for name, columns in levels.items() if same[name]}


def compared_tables(names: Iterable[str]) -> list[Table]:
    """Return the tables of studies with something to compare; those in units of their own last, layers before heads."""
    known = [TABLES[name] for name in TABLES if name in names and TABLES.made[name].corpus]
    tables = [table for table in known if table.measures]
    return sorted(tables, key=lambda table: (bool(table.settings), ("layers", "heads", None).index(table.same)))


def not_compared(names: Iterable[str]) -> dict[str, str]:
    """Say why no difference is taken: table, or some of its columns or rows -> the reason."""
    reasons: dict[str, str] = {}
    for name in names:
        if name not in TABLES:
            reasons[name] = "it is not known here: install the package that made it"
        elif (table := TABLES[name]).why_not or not TABLES.made[name].corpus:
            reasons[name] = table.why_not or "it is not a table of a survey"
        else:
            reasons |= {f"{name}: {', '.join(parts)}": reason for reason, parts in table.parts_not_compared.items()}
    return reasons


def comparable(table: Table, a: Side, b: Side) -> bool:
    """Whether the table's rows mean the same in both models."""
    return {None: True, "layers": len(a.heads) == len(b.heads), "heads": a.heads == b.heads}[table.same]


def difference_table(a: Side, b: Side, names: Mapping[str, bool]) -> pd.DataFrame:
    """One row for each number that both sides have. names: table -> whether it is paired."""
    frames = [
        _compared(TABLES[name], measure.name, scope, a, b, paired)
        for name, paired in names.items()
        for measure in TABLES[name].measures
        for scope in scopes(TABLES[name], a, b)
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=DIFFERENCES.names)


def rows_in_one_only(a: Side, b: Side, name: str) -> dict[str, int]:
    """How many measures (sets of keys) of a table are in one side only."""
    table = TABLES[name]
    keys = [set(rows_by(_rows_of(table, side), table.own_keys)) for side in (a, b)]
    return {"a": len(keys[0] - keys[1]), "b": len(keys[1] - keys[0])}


def rows_by(frame: pd.DataFrame, columns: tuple[str, ...]) -> dict[Key, list[int]]:
    """The row numbers that share their values in the columns, in the order of the first of them."""
    rows: dict[Key, list[int]] = {}
    keys: Iterator[Key] = (
        zip(*(frame[column] for column in columns), strict=True) if columns else iter([()] * len(frame))
    )
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    return rows


def _compared(table: Table, column: str, scope: str, a: Side, b: Side, paired: bool) -> pd.DataFrame:
    moved()
    keys, level = table.own_keys, scopes(table, a, b)[scope]
    named = ("layer", "head") if scope == "best" else level
    groups_a, groups_b = (rows_by(_rows_of(table, side), (*keys, *level)) for side in (a, b))
    shared = [key for key in groups_a if key in groups_b]
    columns: dict[str, Any] = {
        "table": table.name,
        "column": column,
        "measure": [measure_name(keys, key) for key in shared],
        "scope": scope,
    }
    columns_a, drawn_a = _of_side(table, column, named, a, [groups_a[key] for key in shared])
    columns_b, drawn_b = _of_side(table, column, named, b, [groups_b[key] for key in shared])
    columns |= {f"{name}_a": values for name, values in columns_a.items()}
    columns |= {f"{name}_b": values for name, values in columns_b.items()}
    columns["difference"] = columns_b["value"] - columns_a["value"]
    known: bool | None = None
    columns |= dict.fromkeys(("low", "high", "p_value", "p_adjusted"), np.full(len(shared), np.nan))
    if drawn_a is not None and drawn_b is not None:
        known, drawn = paired, drawn_b.minus(drawn_a, paired=paired)
        tested = np.where(np.abs(columns["difference"]) <= ROUNDING, 0.0, columns["difference"])
        columns["low"], columns["high"] = drawn.interval()
        columns["p_value"], columns["p_adjusted"] = drawn.p_values(tested), drawn.adjusted(tested)
    columns["paired"] = pd.Series([known] * len(shared), dtype="boolean")
    return pd.DataFrame(columns)[DIFFERENCES.names]


def _of_side(
    table: Table, column: str, named: tuple[str, ...], side: Side, groups: list[list[int]]
) -> tuple[dict[str, Any], Drawn | None]:
    """The layer or head named, value, interval and count of each group of rows, and its replicates if there are any.

    A row has no more units than instances: a rare relation does not occur in every document.
    """
    frame = _rows_of(table, side)
    first = frame.iloc[[rows[0] for rows in groups]]
    known = {name: first[name] for name in (*named, "count") if name in first}
    columns: dict[str, Any] = {
        name: pd.Series(known[name].tolist() if name in known else [None] * len(groups), dtype="Int64")
        for name in ("layer", "head", "count")
    }
    columns["value"] = group_means(frame[column].to_numpy(np.float64), groups)
    replicates = side.replicates.get(table.name if column == table.measures[0].name else f"{table.name}/{column}")
    if replicates is None:
        return columns | dict.fromkeys(("low", "high"), np.full(len(groups), np.nan)), None
    resampled = side.units.get(TABLES.made[table.name].corpus, np.inf)
    counts = frame["count"].to_numpy(np.float64) if "count" in frame else np.full(len(frame), np.inf)
    units = np.minimum(resampled, [counts[rows].min() for rows in groups])
    drawn = Drawn.over(group_means(replicates, groups), units)
    columns["low"], columns["high"] = drawn.interval()
    return columns, drawn


def measure_name(keys: tuple[str, ...], values: Key) -> str:
    """The keys of a row in words.

    >>> measure_name(("relation", "direction"), ("dobj", "head_to_dependent", 3, 1))
    'relation=dobj direction=head_to_dependent'
    """
    return " ".join(f"{name}={value}" for name, value in zip(keys, values, strict=False))


def group_means(values: Array, groups: list[list[int]]) -> Array:
    """The mean over each group of rows: [..., groups]. values: [..., rows]."""
    if not groups:
        return np.zeros((*values.shape[:-1], 0))
    if all(len(rows) == 1 for rows in groups):
        chosen = [row for (row,) in groups]
        return values if chosen == list(range(values.shape[-1])) else values[..., chosen]
    return np.stack([values[..., rows].mean(-1) for rows in groups], -1)


def _rows_of(table: Table, side: Side) -> pd.DataFrame:
    """The rows of a table that are compared, with the measures that follow from its columns."""
    frame = side.tables[table.name]
    for key in table.keys:
        if key.not_compared:
            frame = frame[~frame[key.name].isin(key.not_compared)]
    return table.prepare(frame) if table.prepare else frame
