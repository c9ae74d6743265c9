"""The folder of a comparison of two atlases: what `compare` leaves behind, and how to open it again.

DIR/manifest.json      what was compared, what was not and why
DIR/tables/            every table as .parquet and .csv (see `schema.py`)
DIR/a/tables/          what the atlas A says of each head, so that the page can be made from this folder alone
DIR/b/tables/          the same of B
DIR/figures/           pictures, once drawn
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.errors import AtlasError
from headatlas.results.atlas import COMPARISON, Atlas, Tables, open_atlas, read_manifest, write_manifest
from headatlas.results.naming import model_named
from headatlas.results.summary import summary_html

if TYPE_CHECKING:
    pass


class Comparison:
    """A comparison's folder, opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What was compared, as read from the folder."""
        return read_manifest(self.folder, COMPARISON)

    @cached_property
    def tables(self) -> Tables:
        """The tables by name, as pandas frames."""
        return Tables(self.folder / "tables", self.manifest.get("tables", {}))

    @cached_property
    def sides(self) -> tuple[Tables, Tables]:
        """The tables of A and of B that have a row for each head, as kept in this folder."""
        a, b = (Tables(self.folder / end / "tables", self.manifest[end].get("tables", {})) for end in "ab")
        return a, b

    def _repr_html_(self) -> str:
        names = [model_named(self.manifest[side]["model"]) for side in ("a", "b")]
        more = "comparison.tables[name] is a pandas frame; headatlas.show_atlas(comparison) shows the page."
        return summary_html(f"Comparison of {names[0]} and {names[1]}", self.manifest.get("tables", {}), more)

    def __repr__(self) -> str:
        return f"Comparison({str(self.folder)!r}, tables: {', '.join(self.tables)})"


def open_comparison(folder: str | Path) -> Comparison:
    """Open the folder of a comparison.

    >>> comparison = open_comparison("base-and-tuned")                  # doctest: +SKIP
    >>> comparison.tables["differences"].query("scope == 'head'").nlargest(5, "difference")   # doctest: +SKIP
    """
    comparison = Comparison(Path(folder))
    read_manifest(comparison.folder, COMPARISON)
    return comparison


def open_results(folder: str | Path) -> Atlas | Comparison:
    """Open a folder of either kind: an atlas or a comparison of two."""
    try:
        return open_comparison(folder)
    except AtlasError:
        return open_atlas(folder)


def write_comparison_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest, readable by people."""
    write_manifest(folder, manifest, COMPARISON)
