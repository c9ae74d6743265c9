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

from headatlas.engine.run_folder import read_manifest
from headatlas.results.atlas import Atlas
from headatlas.results.folder import Results, Tables
from headatlas.results.naming import model_named


class Comparison(Results):
    """The open folder of a comparison."""

    command, called = "compare", "a comparison"

    @cached_property
    def sides(self) -> tuple[Tables, Tables]:
        """The tables of A and of B that have a row per head, as stored in this folder."""
        a, b = self.manifest["a"], self.manifest["b"]
        return Tables(self.folder / "a" / "tables", a["tables"]), Tables(self.folder / "b" / "tables", b["tables"])

    @property
    def title(self) -> str:
        models = [self.manifest["a"]["model"], self.manifest["b"]["model"]]
        return f"Comparison of {' and '.join(map(model_named, models))}"


def open_comparison(folder: str | Path) -> Comparison:
    """Open the folder of a comparison.

    >>> comparison = open_comparison("base-and-tuned")                  # doctest: +SKIP
    >>> comparison.tables["differences"].query("scope == 'head'").nlargest(5, "difference")   # doctest: +SKIP
    """
    return Comparison.open(folder)


def open_results(folder: str | Path) -> Results:
    """Open the folder of any finished command: an `Atlas` of a survey, a `Comparison`, or plain `Results`.

    >>> open_results("layers").tables["layer_summary"]                  # doctest: +SKIP
    """
    opened: dict[str, type[Results]] = {kind.command: kind for kind in (Atlas, Comparison)}
    return opened.get(read_manifest(Path(folder))["command"], Results).open(folder)
