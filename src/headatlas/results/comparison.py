"""The folder of a comparison of two atlases: what `compare` leaves behind, and how to open it again.

DIR/manifest.json      what was compared, what was not and why
DIR/tables/            every table as .parquet and .csv (see `results/tables.py`)
DIR/a/tables/          atlas A's tables with a row per head, so that the page needs this folder alone
DIR/b/tables/          the same of B
DIR/figures/           figures, once drawn
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from headatlas.errors import AtlasError
from headatlas.results.atlas import COMPARISON, Atlas, Results, Tables, open_atlas, read_manifest
from headatlas.results.naming import model_named


class Comparison(Results):
    """The open folder of a comparison."""

    kind = COMPARISON

    @cached_property
    def sides(self) -> tuple[Tables, Tables]:
        """The tables of A and of B that have a row per head, as stored in this folder."""
        a, b = (Tables(self.folder / end / "tables", self.manifest[end].get("tables", {})) for end in "ab")
        return a, b

    @property
    def title(self) -> str:
        return f"Comparison of {' and '.join(model_named(self.manifest[side]['model']) for side in 'ab')}"


def open_comparison(folder: str | Path) -> Comparison:
    """Open the folder of a comparison.

    >>> comparison = open_comparison("base-and-tuned")                  # doctest: +SKIP
    >>> comparison.tables["differences"].query("scope == 'head'").nlargest(5, "difference")   # doctest: +SKIP
    """
    read_manifest(Path(folder), COMPARISON)
    return Comparison(Path(folder))


def open_results(folder: str | Path) -> Atlas | Comparison:
    """Open an atlas or a comparison, whichever the folder holds."""
    try:
        return open_comparison(folder)
    except AtlasError:
        return open_atlas(folder)
