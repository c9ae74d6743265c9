"""headatlas table"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from headatlas.cli.options import ResultsFolder


def table(
    folder: ResultsFolder,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A table of the atlas, such as positions or entropy. `dependencies`, `coreference` and `probes` are "
            "shown with the published figures beside them.",
        ),
    ],
    form: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--format", help="terminal, csv, markdown or latex. Default: what the suffix of --out says, else terminal."
        ),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write to a file (.txt, .csv, .md, .tex) instead of the screen."),
    ] = None,
    rows: Annotated[Optional[int], typer.Option(help="Only so many of the first rows.")] = None,  # noqa: UP045
    sort: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="COLUMN", help="Sort by a column: numbers from the largest, text from A; -COLUMN turns it round."
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="`dependencies`, `coreference`, `probes` as the plain tables they are.")
    ] = False,
) -> None:
    """Print a table of an atlas or of a comparison, for the screen or for a paper.

    **Examples**

    `headatlas table atlas positions --sort value --rows 10`

    `headatlas table atlas dependencies`

    `headatlas table atlas dependencies --out table1.tex`

    `headatlas table atlas dependencies --raw --format csv > every_head.csv`

    CSV holds the words of a corpus as they are. Import it into a spreadsheet as text: a word that begins with `=` would
    be taken for a formula.
    """
    import shutil

    from headatlas.files import write_text
    from headatlas.results.comparison import open_results
    from headatlas.results.rendering import choose_format, render
    from headatlas.views.published.views import view_of

    chosen = choose_format(form, out)
    view = view_of(open_results(folder), name, raw=raw).chosen(sort, rows)
    if out is None:
        columns = shutil.get_terminal_size(fallback=(0, 0)).columns
        typer.echo(render(view, chosen, columns or None), nl=False)
    else:
        write_text(out, render(view, chosen))
        typer.echo(out)
