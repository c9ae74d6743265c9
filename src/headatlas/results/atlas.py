"""The folders of a survey and of a comparison of two, and how to open them again.

Besides what all results have (see `folder`), that of a survey holds:

DIR/examples.safetensors  short inputs with all their maps, gold trees and mentions
DIR/relation_examples.safetensors  sentences on which the best heads get a dependency relation right
DIR/state/             the studies' sums, one file per corpus, from which a stopped survey resumes

That of a comparison holds what was compared, what was not and why (in its manifest), and:

DIR/a/tables/          atlas A's tables with a row per head, so that the page needs this folder alone
DIR/b/tables/          the same of B
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from headatlas.engine.run_folder import read_manifest
from headatlas.results.example import (
    EXAMPLES,
    RELATION_EXAMPLES,
    Example,
    RelationExample,
    load_examples,
    load_relation_examples,
)
from headatlas.results.folder import Results, Tables
from headatlas.results.naming import heads_in_layers, model_named


class Atlas(Results):
    """The open folder of a survey, also of one that `demo`, `merge` or `reproduce` made."""

    command, called = "survey", "a survey"

    @cached_property
    def examples(self) -> list[Example]:
        """Short inputs with all their maps."""
        return load_examples(self.folder / EXAMPLES)

    @property
    def example(self) -> Example | None:
        """The input that figure 1 shows."""
        return self.examples[0] if self.examples else None

    @cached_property
    def relation_examples(self) -> list[RelationExample]:
        """Sentences on which the best heads get their relation right; empty if no treebank was surveyed."""
        return load_relation_examples(self.folder / RELATION_EXAMPLES)

    @property
    def title(self) -> str:
        model = self.manifest["model"]
        return f"Atlas of {model_named(model)}: {heads_in_layers(model)}"

    def _what_next(self) -> dict[str, str]:
        return super()._what_next() | {"atlas.examples": "short inputs with the maps of every head"}


def open_atlas(folder: str | Path) -> Atlas:
    """Open the folder of a finished survey.

    >>> atlas = open_atlas("atlas")                                     # doctest: +SKIP
    >>> atlas.tables["positions"].query("offset == -1").nlargest(3, "value")   # doctest: +SKIP
    """
    return Atlas.open(folder)


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
