"""The folders that commands leave behind, and how to open them again.

DIR/manifest.json      what was run: model, corpora, settings, versions, what was left out (see `headatlas.manifest`)
DIR/tables/            every table as .parquet and, unless it is very long, as .csv (see `results/tables.py`)
DIR/state/             what is finished, from which a stopped run resumes; some commands remove it at the end
DIR/figures/           figures, once drawn
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from headatlas.engine.run_folder import read_manifest, write_manifest
from headatlas.errors import AtlasError
from headatlas.files import make_folder, own_subfolder, write_atomically
from headatlas.limits import MOST_CELLS, RAISE
from headatlas.manifest import Manifest
from headatlas.results.naming import heads_in_layers, model_named
from headatlas.results.tables import TABLES
from headatlas.tables import Table
from headatlas.wording import counted

Rows = list[dict[str, Any]]
MOST_CSV_ROWS = 250_000


class Tables(Mapping[str, pd.DataFrame]):
    """The tables of a folder by name, as items or attributes, each read when it is first used."""

    def __init__(self, folder: Path, rows: Mapping[str, int]) -> None:
        self._folder = folder
        self._rows = rows  # per table, from the manifest
        self._read: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._rows:
            raise KeyError(f"no table {name!r}; the tables are: {', '.join(self._rows)}")
        if name not in self._read:
            path = self._folder / f"{name}.parquet"
            try:
                _check_size(path, self._rows[name])
                self._read[name] = pd.read_parquet(path)
            except Exception as error:  # a damaged Parquet file fails in many ways
                raise AtlasError(f"{path}: cannot be read ({error}). Run the survey again.") from error
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows  # without reading it

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getattr__(self, name: str) -> pd.DataFrame:
        if name.startswith("_") or name not in self._rows:
            raise AttributeError(f"no table {name!r}; the tables are: {', '.join(self.__dict__.get('_rows', ()))}")
        return self[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._rows]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._rows)

    def _listing(self) -> list[tuple[str, int, str]]:
        """The name and size of each table, and the question that it answers."""
        return [(name, rows, TABLES[name].question if name in TABLES else "") for name, rows in self._rows.items()]

    def __repr__(self) -> str:
        sizes = [f"{rows:,}" for rows in self._rows.values()]
        wide, high = (max(map(len, column), default=0) for column in (self._rows, sizes))
        lines = [f"  {name:{wide}}  {rows:{high},} rows  {about}".rstrip() for name, rows, about in self._listing()]
        example = f'; tables["{next(iter(self._rows))}"] is a pandas frame' if self._rows else ""
        return "\n".join([f"{counted(len(self), 'table')}{example}", *lines])

    def _repr_html_(self) -> str:
        """The same for a notebook. Names of tables are identifiers."""
        rows = [("table", "rows", "about"), *((name, f"{rows:,}", about) for name, rows, about in self._listing())]
        left = ' style="text-align:left"'
        cells = [f"<td{left}>{name}</td><td>{size}</td><td{left}>{escape(about)}</td>" for name, size, about in rows]
        return f"<table>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def _check_size(path: Path, rows: int) -> None:
    """Raise ValueError if a table has more rows than the manifest says, or more cells than we read.

    A small file can hold a very large table, so its metadata are checked before anything else is read.
    """
    from pyarrow import parquet

    about = parquet.read_metadata(path)
    if about.num_rows != rows:
        raise ValueError(f"it has {about.num_rows:,} rows, but the manifest says {rows:,}")
    if (cells := about.num_rows * about.num_columns) > MOST_CELLS:
        raise ValueError(f"it has {cells:,} cells, more than {MOST_CELLS:,}. {RAISE.rstrip('.')}")


class Results:
    """An open folder of results: its manifest and its tables. `probe`, `layers`, `ablate` and others return it.

    Attributes:
        folder: The folder.
    """

    command: ClassVar[str] = ""  # the only one whose folders may be opened as this class
    called: ClassVar[str] = "results"  # what people call such a folder

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open the folder of a finished run.

        Raises:
            AtlasError: The folder holds no such results, a shard, or a run that has not finished.
        """
        results = cls(Path(folder))
        manifest = results.manifest
        if cls.command and manifest["command"] != cls.command:
            raise AtlasError(
                f"{folder}: holds the results of {manifest['command']}, not {cls.called}. "
                f"Make one with: headatlas {cls.command}"
            )
        if manifest.get("settings", {}).get("shard") is not None:
            raise AtlasError(
                f"{folder}: holds a shard of the results of {manifest['command']}. "
                "Put all shards together with: headatlas merge"
            )
        if not manifest.get("complete"):
            raise AtlasError(f"{folder}: this run has not finished. Run the same command again to resume it.")
        return results

    @cached_property
    def manifest(self) -> Manifest:
        """What was run, as the folder's manifest says."""
        return read_manifest(self.folder, self.command)

    @property
    def complete(self) -> bool:
        """Whether the run finished."""
        return bool(self.manifest.get("complete"))

    @cached_property
    def tables(self) -> Tables:
        """The tables by name, as pandas frames."""
        return Tables(self.folder / "tables", self.manifest.get("tables", {}))

    @property
    def title(self) -> str:
        """What the folder holds, in a few words."""
        model = self.manifest["model"]
        return f"Results of {self.manifest['command']} for {model_named(model)}: {heads_in_layers(model)}"

    def _what_next(self) -> dict[str, str]:
        """What can be done with these results, for people who see them for the first time."""
        first, name = next(iter(self.tables), "name"), type(self).__name__.lower()
        return {
            f'{name}.tables["{first}"]': f"a pandas frame, one of {counted(len(self.tables), 'table')}",
            f"{name}.manifest": "model, corpora, settings, versions, and what was left out",
            f"headatlas.show_atlas({name})": "the page, in a notebook",
            f"headatlas.write_figures({name})": f"figures, as files in {self.folder / 'figures'}",
        }

    def _repr_html_(self) -> str:
        """What the folder holds, for a notebook."""
        items = [f"<code>{escape(code)}</code>: {escape(text)}" for code, text in self._what_next().items()]
        steps = "".join(f"<li>{item}</li>" for item in items)
        return f"<div><p>{escape(self.title)}</p>{self.tables._repr_html_()}<ul>{steps}</ul></div>"

    def __repr__(self) -> str:
        steps = self._what_next()
        wide = max(map(len, steps))
        lines = [f"  {code:{wide}}  {text}" for code, text in steps.items()]
        return "\n".join([f"{self.title}, in {self.folder}", *lines, f"Tables: {', '.join(self.tables)}"])


def write_tables(
    folder: Path, tables: Mapping[str, pd.DataFrame], declared: Mapping[str, Table] = TABLES
) -> dict[str, int]:
    """Write every table as Parquet and CSV, as it is declared; return the number of rows of each.

    Of a table with more than MOST_CSV_ROWS rows, such as the distances of the pairs of 1,024 heads, there is no CSV.
    """
    target = own_subfolder(folder, "tables")
    make_folder(target)
    for name, frame in tables.items():
        conformed = declared[name].conform(frame)
        write_atomically(target / f"{name}.parquet", partial(conformed.to_parquet, index=False))
        if len(frame) <= MOST_CSV_ROWS:
            write_atomically(target / f"{name}.csv", partial(conformed.to_csv, index=False))
    return {name: len(frame) for name, frame in tables.items()}


def make_tables(rows: Mapping[str, Rows]) -> dict[str, pd.DataFrame]:
    """Make tables with their declared columns; tables without rows are omitted."""
    return {name: TABLES[name].from_rows(rows_of_table) for name, rows_of_table in rows.items() if rows_of_table}


def add_table(folder: Path, name: str, frame: pd.DataFrame) -> None:
    """Add a table to finished results, or replace one."""
    manifest = read_manifest(folder)
    manifest["tables"] |= write_tables(folder, {name: frame})
    write_manifest(folder, manifest)
