"""`headatlas figures`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from headatlas.commands.shared.command import command
from headatlas.commands.shared.options import Folder, Options, ResultsFolder


@dataclass(frozen=True, kw_only=True)
class FiguresOptions(Options):
    """The options of `figures`."""

    folder: ResultsFolder = field(kw_only=False)
    """Folder made by `headatlas survey` or another command that writes tables."""
    out: Folder | None = None
    """Folder to write to. Default: DIR/figures."""
    beside: ResultsFolder | None = None
    """Another folder of `headatlas layers`: draw the layers of both models side by side."""


@command(FiguresOptions)
def figures(options: FiguresOptions) -> list[Path]:
    """Draw the figures of an atlas or a comparison again, as SVG, PNG and PDF.

    Figure 1: heads at work on one input. Figure 2: attention to kinds of tokens and to positions, over layers. Figure
    3: gradients, if the model has a language model head. Figure 4: entropy. Figure 5: the best heads for dependency
    relations, if a treebank was surveyed. Of probes: their scores, the heads they use, and layers. Of `layers`: mixing
    weights, differential and cumulative scores, and targets whose prediction changes.

        headatlas figures atlas
        headatlas figures layers-base --beside layers-large
    """
    from headatlas.results.atlas import open_results
    from headatlas.views.figures.write import write_beside, write_figures

    results = open_results(options.folder)
    out = None if options.out is None else Path(options.out)
    if options.beside is not None:
        return write_beside(Path(options.folder), Path(options.beside), out)
    return write_figures(results, out)
