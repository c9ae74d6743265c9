"""Every figure that a comparison of two atlases has data for, written to its folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from matplotlib.figure import Figure

from headatlas.files import own_subfolder
from headatlas.results.naming import short_name
from headatlas.views.figures.differences import SURFACE, best_heads_figure, surface_figure
from headatlas.views.figures.matches import head_matches_figure, heads_moved_figure
from headatlas.views.figures.style import FORMATS, save_figure


class Compared(Protocol):
    """What is needed of a comparison."""

    @property
    def folder(self) -> Path: ...
    @property
    def tables(self) -> Mapping[str, pd.DataFrame]: ...
    @property
    def manifest(self) -> dict[str, Any]: ...


def write_comparison_figures(
    comparison: Compared, folder: Path | None = None, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write the figures, by default to the comparison's own `figures` folder."""
    folder = own_subfolder(comparison.folder, "figures") if folder is None else folder
    return [path for stem, figure in _figures(comparison) for path in save_figure(figure, folder / stem, formats)]


def names_of(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """What to call the two sides: their models, with what tells them apart."""
    a, b = models_of(manifest)
    return (a, b) if a != b else (f"A, {a}", f"B, {b}")


def models_of(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """The names of the two sides' models, which may be the same."""
    return _name(manifest["a"]["model"]), _name(manifest["b"]["model"])


def only_causal(manifest: Mapping[str, Any]) -> int | None:
    """Which of the sides, 0 or 1, is the only one whose words see none of those after them; None where neither is.

    Such a mask alone makes heads predict a neighbour: of rows that are nearly uniform over ever more words, the next
    word's is the one that attends most to a word. So accuracies of a causal and another model are no fair comparison.
    """
    causal = [manifest[end]["model"].get("attention") == "decoder" for end in "ab"]
    return None if causal[0] == causal[1] else causal.index(True)


def relations_by(manifest: Mapping[str, Any]) -> str:
    """What the best heads of relations are compared by: accuracy, or their lead over the best fixed offset."""
    return "accuracy" if only_causal(manifest) is None else "lead"


def _figures(comparison: Compared) -> Iterator[tuple[str, Figure]]:
    tables, names = comparison.tables, names_of(comparison.manifest)
    if "head_matches" in tables:
        if tables["head_matches"]["own"].notna().any():
            yield "heads_moved", heads_moved_figure(tables["head_matches"], names)
        yield "head_matches", head_matches_figure(tables["cross_distances"], tables["head_matches"], names)
    differences = tables["differences"]
    if (differences["scope"] == "best").any():
        yield "best_heads", best_heads_figure(differences, names, relations_by(comparison.manifest))
    if ((differences["scope"] == "head") & differences["table"].isin([table for table, _, _ in SURFACE])).any():
        yield "surface", surface_figure(differences, names)


def _name(model: Mapping[str, Any]) -> str:
    name = short_name(model)
    return f"{name} with random weights" if model.get("random_weights") else name
