"""The atlas folder: what a survey leaves behind, and how to open it again.

DIR/manifest.json      what was surveyed: model, corpus, settings, versions, what was left out
DIR/tables/            every table as .parquet and .csv (see `schema.py`)
DIR/examples.safetensors  short inputs with all their maps, gold trees and mentions
DIR/relation_examples.safetensors  sentences on which the best heads get a dependency relation right
DIR/state/             the studies' sums, a file a corpus: what a stopped survey continues from
DIR/figures/           pictures, once drawn
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from headatlas.errors import AtlasError
from headatlas.files import json_text, make_folder, own_subfolder, write_atomically, write_text
from headatlas.limits import LARGEST_JSON, MOST_CELLS, RAISE, read_within
from headatlas.results.example import Example, load_examples, save_examples
from headatlas.results.manifests import parse_manifest
from headatlas.results.naming import heads_in_layers, model_named
from headatlas.results.relation_examples import RelationExample, load_relation_examples
from headatlas.results.schema import conform
from headatlas.results.summary import summary_html

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class FolderKind:
    """What a manifest is the manifest of: its format tag, what people call it, and the command that makes it."""

    format: str
    name: str
    command: str


ATLAS = FolderKind("headatlas-atlas-1", "an atlas", "survey")
COMPARISON = FolderKind("headatlas-comparison-1", "a comparison", "compare")
PRUNING = FolderKind("headatlas-pruned-1", "a pruning", "prune")
SHARD = FolderKind("headatlas-shard-1", "a shard", "survey --shard")
KINDS = (ATLAS, COMPARISON, PRUNING, SHARD)
RELATION_EXAMPLES = "relation_examples.safetensors"
EXAMPLES = "examples.safetensors"
ONE_EXAMPLE = "example.safetensors"  # of atlases made before there were several


class Tables(Mapping[str, pd.DataFrame]):
    """The tables of an atlas by name, each read when first asked for."""

    def __init__(self, folder: Path, rows: Mapping[str, int]) -> None:
        self._folder = folder
        self._rows = rows  # of each table, as the manifest tells them
        self._read: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._rows:
            raise KeyError(f"no table {name!r} in this atlas; it has: {', '.join(self._rows)}")
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
    """ValueError where a table says of itself that it is larger than the manifest says, or than one may be.

    A small file can hold a very large table, so its own metadata are asked before anything else is read.
    """
    from pyarrow import parquet

    about = parquet.read_metadata(path)
    if about.num_rows != rows:
        raise ValueError(f"it has {about.num_rows:,} rows, but the manifest tells of {rows:,}")
    if (cells := about.num_rows * about.num_columns) > MOST_CELLS:
        raise ValueError(f"it has {cells:,} cells, more than {MOST_CELLS:,}. {RAISE.rstrip('.')}")


class Atlas:
    """An atlas folder, opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def manifest(self) -> dict[str, Any]:
        """What was surveyed, as read from the folder."""
        return read_manifest(self.folder)

    @property
    def complete(self) -> bool:
        """Whether the survey ran to its end."""
        return bool(self.manifest.get("complete"))

    @cached_property
    def tables(self) -> Tables:
        """The tables by name, as pandas frames."""
        return Tables(self.folder / "tables", self.manifest.get("tables", {}))

    @cached_property
    def examples(self) -> list[Example]:
        """Short inputs with all their maps."""
        paths = (self.folder / name for name in (EXAMPLES, ONE_EXAMPLE))
        path = next((path for path in paths if path.exists()), None)
        return load_examples(path) if path else []

    @property
    def example(self) -> Example | None:
        """The input that figure 1 shows."""
        return self.examples[0] if self.examples else None

    @cached_property
    def relation_examples(self) -> list[RelationExample]:
        """Sentences on which the best heads get their relation right; none where no treebank was surveyed."""
        path = self.folder / RELATION_EXAMPLES
        return load_relation_examples(path) if path.exists() else []

    def _repr_html_(self) -> str:
        model = self.manifest["model"]
        title = f"Atlas of {model_named(model)}: {heads_in_layers(model)}"
        more = "atlas.tables[name] is a pandas frame; headatlas.show_atlas(atlas) shows the page."
        return summary_html(title, self.manifest.get("tables", {}), more)

    def __repr__(self) -> str:
        return f"Atlas({str(self.folder)!r}, tables: {', '.join(self.tables)})"


def open_atlas(folder: str | Path) -> Atlas:
    """Open the folder of a finished survey.

    >>> atlas = open_atlas("atlas")                                     # doctest: +SKIP
    >>> atlas.tables["positions"].query("offset == -1").nlargest(3, "value")   # doctest: +SKIP
    """
    atlas = Atlas(Path(folder))
    if not atlas.complete:
        raise AtlasError(f"{folder}: this run has not finished. Run the command that began it again to continue it.")
    return atlas


def read_manifest(folder: Path, kind: FolderKind = ATLAS) -> dict[str, Any]:
    """The manifest of a folder; AtlasError where there is none, it is damaged, or of another kind."""
    path = folder / "manifest.json"
    again = f"Run the {kind.command} again."
    try:
        manifest = parse_manifest(read_within(path, LARGEST_JSON).decode("utf-8"), path)
    except FileNotFoundError as error:
        raise AtlasError(
            f"{folder}: no {kind.name.split()[1]} here (no manifest.json). Make one with: headatlas {kind.command}"
        ) from error
    except (OSError, ValueError) as error:
        raise AtlasError(f"{path}: cannot be read ({error}). {again}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != kind.format:
        found = manifest.get("format") if isinstance(manifest, dict) else None
        other = next((f"; it is that of {one.name}" for one in KINDS if one.format == found), "")
        remedy = " Put all shards together with: headatlas merge" if found == SHARD.format else ""
        raise AtlasError(f"{path}: not the manifest of {kind.name}{other}.{remedy}")
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
        conformed = conform(name, frame)
        write_atomically(target / f"{name}.parquet", partial(conformed.to_parquet, index=False))
        write_atomically(target / f"{name}.csv", partial(conformed.to_csv, index=False))
    return {name: len(frame) for name, frame in tables.items()}


def add_table(folder: Path, name: str, frame: pd.DataFrame) -> None:
    """Write one more table, or one again, into a finished atlas."""
    manifest = read_manifest(folder)
    write_manifest(folder, manifest | {"tables": manifest["tables"] | write_tables(folder, {name: frame})})


def write_examples(folder: Path, examples: Sequence[Example]) -> None:
    """Keep the examples beside the tables."""
    save_examples(examples, folder / EXAMPLES)
