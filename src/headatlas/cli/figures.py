"""headatlas figures"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import ResultsFolder


def figures(
    folder: ResultsFolder,
    out: Annotated[Optional[Path], typer.Option(help="Where to write. Default: DIR/figures.")] = None,  # noqa: UP045
    beside: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Of `headatlas layers`: draw the layers of both models side by side."),
    ] = None,
) -> None:
    """Draw the figures of an atlas or a comparison again, as SVG, PNG and PDF.

    Figure 1: heads at work on one input. Figure 2: attention to kinds of tokens and to positions, over layers.
    Figure 3: gradients (where the model has a language model head). Figure 4: entropy. Figure 5: the best heads for
    dependency relations (where a treebank was surveyed). Of probes: their scores, the heads they use, and layers.
    Of `headatlas layers`: mixing weights over differential scores, cumulative scores, and targets that move.

    **Example**

    `headatlas figures atlas`

    `headatlas figures layers-base --beside layers-large`
    """
    from headatlas.results.comparison import Comparison, open_results
    from headatlas.views.figures.comparison import write_comparison_figures
    from headatlas.views.figures.write import write_beside, write_figures

    opened = open_results(folder)
    if beside is not None:
        for path in write_beside(folder, beside, out):
            typer.echo(path)
        return
    drawn = write_comparison_figures(opened, out) if isinstance(opened, Comparison) else write_figures(opened, out)
    for path in drawn:
        typer.echo(path)
