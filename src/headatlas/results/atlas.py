"""The folders that runs leave behind, and how to open them again.

DIR/manifest.json      what was run: model, corpora, settings, versions, what was left out
DIR/tables/            every table as .parquet and .csv (see `results/tables.py`)
DIR/examples.safetensors  short inputs with all their maps, gold trees and mentions
DIR/relation_examples.safetensors  sentences on which the best heads get a dependency relation right
DIR/state/             the studies' sums, one file per corpus, from which a stopped survey resumes
DIR/figures/           figures, once drawn
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from headatlas.engine.settings import differences
from headatlas.errors import AtlasError
from headatlas.files import json_text, make_folder, own_subfolder, parse_json, write_atomically, write_text
from headatlas.limits import LARGEST_JSON, MOST_CELLS, RAISE, read_within
from headatlas.models.stacks import parse_shape
from headatlas.results.example import Example, RelationExample, load_examples, load_relation_examples, save_examples
from headatlas.results.naming import heads_in_layers, model_named
from headatlas.results.tables import TABLES


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder: the format tag of its manifest, what people call it, and the command that makes it."""

    format: str
    name: str
    command: str


ATLAS = FolderKind("headatlas-atlas-1", "an atlas", "survey")
COMPARISON = FolderKind("headatlas-comparison-1", "a comparison", "compare")
PRUNING = FolderKind("headatlas-pruned-1", "a pruning", "prune")
SHARD = FolderKind("headatlas-shard-1", "a shard", "survey --shard")
FOLDER_KINDS = (ATLAS, COMPARISON, PRUNING, SHARD)
RELATION_EXAMPLES = "relation_examples.safetensors"
EXAMPLES = "examples.safetensors"
_MANIFEST_TYPES: dict[str, type] = {"complete": bool} | dict.fromkeys(
    ("settings", "model", "versions", "corpora", "tables", "studies_skipped", "summary"), dict
)


class Tables(Mapping[str, pd.DataFrame]):
    """The tables of a folder by name, each read when it is first used."""

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

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


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
    """An open folder of results: its manifest and its tables."""

    kind: ClassVar[FolderKind]

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What was run, as the folder's manifest says."""
        return read_manifest(self.folder, self.kind)

    @cached_property
    def tables(self) -> Tables:
        """The tables by name, as pandas frames."""
        return Tables(self.folder / "tables", self.manifest.get("tables", {}))

    @property
    def title(self) -> str:
        """What the folder holds, in a few words."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Each table with its size and what it answers, for a notebook. Names of tables are identifiers."""
        listing = "".join(
            f"<tr><td>{name}</td><td>{rows}</td><td>{escape(TABLES[name].question) if name in TABLES else ''}</td></tr>"
            for name, rows in self.manifest.get("tables", {}).items()
        )
        name = type(self).__name__.lower()
        more = f"{name}.tables[name] is a pandas frame; headatlas.show_atlas({name}) shows the page."
        table = f"<table><tr><th>table</th><th>rows</th><th>about</th></tr>{listing}</table>"
        return f"<div><p>{escape(self.title)}</p>{table}<p>{more}</p></div>"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, tables: {', '.join(self.tables)})"


class Atlas(Results):
    """The open folder of a survey, or of another command that describes the heads or layers of one model."""

    kind = ATLAS

    @property
    def complete(self) -> bool:
        """Whether the run finished."""
        return bool(self.manifest.get("complete"))

    @cached_property
    def examples(self) -> list[Example]:
        """Short inputs with all their maps."""
        path = self.folder / EXAMPLES
        return load_examples(path) if path.exists() else []

    @property
    def example(self) -> Example | None:
        """The input that figure 1 shows."""
        return self.examples[0] if self.examples else None

    @cached_property
    def relation_examples(self) -> list[RelationExample]:
        """Sentences on which the best heads get their relation right; empty if no treebank was surveyed."""
        path = self.folder / RELATION_EXAMPLES
        return load_relation_examples(path) if path.exists() else []

    @property
    def title(self) -> str:
        model = self.manifest["model"]
        return f"Atlas of {model_named(model)}: {heads_in_layers(model)}"


def open_atlas(folder: str | Path) -> Atlas:
    """Open the folder of a finished survey.

    >>> atlas = open_atlas("atlas")                                     # doctest: +SKIP
    >>> atlas.tables["positions"].query("offset == -1").nlargest(3, "value")   # doctest: +SKIP
    """
    atlas = Atlas(Path(folder))
    if not atlas.complete:
        raise AtlasError(f"{folder}: this run has not finished. Run the same command again to resume it.")
    return atlas


def read_manifest(folder: Path, kind: FolderKind = ATLAS) -> dict[str, Any]:
    """The manifest of a folder; AtlasError if it is missing, damaged, or that of another kind of folder."""
    path = folder / "manifest.json"
    try:
        manifest = _parse_manifest(read_within(path, LARGEST_JSON).decode("utf-8"), path)
    except FileNotFoundError as error:
        raise AtlasError(
            f"{folder}: no {kind.name.split()[1]} here (no manifest.json). Make one with: headatlas {kind.command}"
        ) from error
    except (OSError, ValueError) as error:
        raise AtlasError(f"{path}: cannot be read ({error}). Run the {kind.command} again.") from error
    tag = manifest.get("format")
    if tag != kind.format:
        other = next((f"; it is that of {other.name}" for other in FOLDER_KINDS if other.format == tag), "")
        remedy = " Put all shards together with: headatlas merge" if tag == SHARD.format else ""
        raise AtlasError(f"{path}: not the manifest of {kind.name}{other}.{remedy}")
    return manifest


class _ManifestPart(dict[str, Any]):
    """An object within a manifest. A missing key raises AtlasError, which names the file and the key."""

    def __init__(self, entries: dict[str, Any], path: Path) -> None:
        super().__init__(entries)
        self._path = path

    def __missing__(self, key: str) -> Any:
        raise AtlasError(f"{self._path}: {key!r} is missing. The file is damaged, or from another version: run again.")


def _parse_manifest(text: str, path: Path) -> dict[str, Any]:
    """The content of a manifest; ValueError if it is not a JSON object, or if one of its main parts is malformed."""
    manifest = parse_json(text, partial(_ManifestPart, path=path))
    if not isinstance(manifest, dict):
        raise ValueError("it is not an object")
    for name, expected in _MANIFEST_TYPES.items():
        if not isinstance(manifest.get(name, expected()), expected):
            raise ValueError(f"{name} is a {type(manifest[name]).__name__}")
    model = manifest.get("model", {})
    if not isinstance(model.get("name", ""), str):
        raise ValueError("the model's name is not text")
    parse_shape(model.get("heads", [1]))
    if not all(isinstance(about, dict) for about in manifest.get("corpora", {}).values()):
        raise ValueError("the description of a corpus is not an object")
    if not all(name.isidentifier() and type(rows) is int for name, rows in manifest.get("tables", {}).items()):
        raise ValueError("its tables are not names with numbers of rows")
    return manifest


def write_manifest(folder: Path, manifest: Mapping[str, Any], kind: FolderKind = ATLAS) -> None:
    """Write the manifest, readable by people."""
    text = json_text({"format": kind.format, **manifest}, indent=2)
    write_text(folder / "manifest.json", text + "\n")


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> dict[str, int]:
    """Write every table as Parquet and CSV; return the number of rows of each."""
    target = own_subfolder(folder, "tables")
    make_folder(target)
    for name, frame in tables.items():
        conformed = TABLES[name].conform(frame)
        write_atomically(target / f"{name}.parquet", partial(conformed.to_parquet, index=False))
        write_atomically(target / f"{name}.csv", partial(conformed.to_csv, index=False))
    return {name: len(frame) for name, frame in tables.items()}


def add_table(folder: Path, name: str, frame: pd.DataFrame) -> None:
    """Add a table to a finished atlas, or replace one."""
    manifest = read_manifest(folder)
    write_manifest(folder, manifest | {"tables": manifest["tables"] | write_tables(folder, {name: frame})})


def write_examples(folder: Path, examples: Sequence[Example]) -> None:
    """Write the examples beside the tables."""
    save_examples(examples, folder / EXAMPLES)


def already_done(folder: Path, settings: dict[str, Any], kind: FolderKind = ATLAS) -> bool:
    """Whether the folder holds this run, finished. Raises AtlasError if it holds another run."""
    if not (folder / "manifest.json").exists():
        return False
    manifest = read_manifest(folder, kind)
    refuse_other_run(folder, manifest, settings)
    return bool(manifest.get("complete"))


def refuse_other_run(folder: Path, manifest: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Raise an error if a manifest is of a run with other settings."""
    made_by = manifest.get("versions")
    version = made_by.get("headatlas") if isinstance(made_by, Mapping) else None
    if differing := differences(manifest.get("settings", {}), settings, version):
        raise AtlasError(
            f"{folder}: holds other results ({'; '.join(differing)}). Choose another --out folder, or delete this one."
        )
