"""headatlas page"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def page(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder made by `headatlas survey` or `headatlas compare`.")
    ],
) -> None:
    """Write the page of an atlas or a comparison again: DIR/index.html, one file to open in a browser, without network.

    Map, grid, sentence and tables show one head, chosen in any of them; search finds heads, relations and examples.
    That of a comparison has the heads of both models side by side, matched ones linked, and what differs most.
    Every picture can be saved as SVG or PNG and every table as CSV.

    **Example**

    `headatlas page atlas`

    `headatlas page base-and-tuned`
    """
    from headatlas.results.comparison import open_results
    from headatlas.views.page import write_page

    typer.echo(write_page(open_results(folder)))
