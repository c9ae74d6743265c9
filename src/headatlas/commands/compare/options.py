"""`headatlas compare`, in Python `headatlas.compare`: options and entry point."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from headatlas.commands.shared.command import command
from headatlas.commands.shared.corpora import FormatOptions
from headatlas.commands.shared.models import BatchOptions, LoadOptions
from headatlas.commands.shared.options import MUST_EXIST, RESULTS, UNRECORDED, Folder, Positive, PythonOnly, Texts

if TYPE_CHECKING:
    from headatlas.results.atlas import Atlas, Comparison
else:
    Atlas = object  # importing the class would import pandas, which --help must not wait for

Side = Annotated[str | Path | Atlas, RESULTS, MUST_EXIST, UNRECORDED]


@dataclass(frozen=True, kw_only=True)
class CompareOptions(LoadOptions, BatchOptions, FormatOptions):
    """The options of `compare`."""

    kinds: ClassVar[tuple[str, ...]] = ("text",)
    a: Side = field(kw_only=False)
    """Folder made by `headatlas survey`."""
    b: Side = field(kw_only=False)
    """Another one. Differences are B - A."""
    out: Folder = "comparison"
    """Folder to write to. An older comparison in it is replaced."""
    text: Texts | None = None
    """Text that both models read, to match their heads by distance. Default: the text that A was surveyed on. It needs
    both models and one tokenizer."""
    segments: Positive | None = None
    """Number of segments of the text. Default: as many as in the survey of A."""
    progress: PythonOnly = True
    """Show progress."""


@command(CompareOptions)
def compare(options: CompareOptions) -> Comparison:
    """Compare two atlases: base and fine-tuned, trained and random, small and large.

    Writes every number that both have, with an interval for the difference, and matches heads by what they do and, if
    both models share a tokenizer, by how they attend to the same text.

        headatlas compare atlas-base atlas-tuned --out base-and-tuned
        headatlas compare atlas atlas-random --text wiki.txt --segments 200
        headatlas table base-and-tuned head_matches --sort own --rows 10

    In Python: headatlas.compare("atlas-base", "atlas-tuned", out="base-and-tuned").tables["differences"]
    """
    from headatlas.commands.compare.run import run_compare

    return run_compare(options)
