"""The folder of a survey. Besides what all results have (see `folder`), it holds:

DIR/examples.safetensors  short inputs with all their maps, gold trees and mentions
DIR/relation_examples.safetensors  sentences on which the best heads get a dependency relation right
DIR/state/             the studies' sums, one file per corpus, from which a stopped survey resumes
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from headatlas.results.example import (
    Example,
    RelationExample,
    load_examples,
    load_relation_examples,
    save_examples,
    save_relation_examples,
)
from headatlas.results.folder import Results
from headatlas.results.naming import heads_in_layers, model_named

RELATION_EXAMPLES = "relation_examples.safetensors"
EXAMPLES = "examples.safetensors"


class Atlas(Results):
    """The open folder of a survey, also of one that `demo`, `merge` or `reproduce` made."""

    command, called = "survey", "a survey"

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

    def _what_next(self) -> dict[str, str]:
        return super()._what_next() | {"atlas.examples": "short inputs with the maps of every head"}


def open_atlas(folder: str | Path) -> Atlas:
    """Open the folder of a finished survey.

    >>> atlas = open_atlas("atlas")                                     # doctest: +SKIP
    >>> atlas.tables["positions"].query("offset == -1").nlargest(3, "value")   # doctest: +SKIP
    """
    return Atlas.open(folder)


def write_examples(folder: Path, examples: Sequence[Example]) -> None:
    """Write the examples beside the tables."""
    save_examples(examples, folder / EXAMPLES)


def write_relation_examples(folder: Path, examples: Sequence[RelationExample]) -> None:
    """Write the sentences of figure 5 beside the tables."""
    save_relation_examples(examples, folder / RELATION_EXAMPLES)
