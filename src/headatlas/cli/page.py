"""headatlas page"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def page(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="An atlas folder, made by `headatlas survey`.")],
) -> None:
    """Write an atlas's page again: DIR/index.html, one file to open in a browser, without network.

    Map, grid, sentence and tables show one head, chosen in any of them; search finds heads, relations and examples.
    Every picture can be saved as SVG or PNG and every table as CSV.

    **Example**

    `headatlas page atlas`
    """
    from headatlas.atlas.page import write_page
    from headatlas.results.atlas import open_atlas

    typer.echo(write_page(open_atlas(folder)))
