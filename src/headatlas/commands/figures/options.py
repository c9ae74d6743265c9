"""`headatlas figures`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from headatlas.commands.shared.command import command
from headatlas.commands.shared.options import Folder, Options, Pairs, ResultsFolder
from headatlas.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class FiguresOptions(Options):
    """The options of `figures`."""

    folder: ResultsFolder = field(kw_only=False)
    """Folder made by `headatlas survey` or another command that writes tables."""
    out: Folder | None = None
    """Folder to write to. Default: DIR/figures."""
    beside: ResultsFolder | None = None
    """Another folder of `headatlas layers`: draw the layers of both models side by side."""
    words: Annotated[Pairs | None, Parameter(metavar="WORDS=OTHERS...")] = None
    """Words to write instead of others, for labels in another language: layer=couche "previous token=mot précédent"."""


@command(FiguresOptions)
def figures(options: FiguresOptions) -> list[Path]:
    """Draw the figures of an atlas or a comparison again, as SVG, PNG and PDF.

    Figure 1: heads at work on one input. Figure 2: attention to kinds of tokens and to positions, over layers. Figure
    3: gradients, if the model has a language model head. Figure 4: entropy. Figure 5: the best heads for dependency
    relations, if a treebank was surveyed. Figure 6: the map of heads. A folder of `probe` has figures of the scores of
    probes, of the heads that they use and of layers; one of `layers`, of mixing weights, of differential and cumulative
    scores, and of targets whose prediction changes.

        headatlas figures atlas
        headatlas figures layers-base --beside layers-large
        headatlas figures atlas --words layer=couche "next token=mot suivant" --out figures-fr
    """
    from headatlas.results.atlas import open_results
    from headatlas.views.figures.write import write_beside, write_figures

    results = open_results(options.folder)
    out = None if options.out is None else Path(options.out)
    if not all((options.words or {}).values()):
        raise SettingError("--words takes words and others to write instead, such as layer=couche.")
    if options.beside is not None:
        return write_beside(Path(options.folder), Path(options.beside), out, words=options.words)
    return write_figures(results, out, words=options.words)
