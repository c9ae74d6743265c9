"""`headatlas page`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from headatlas.commands.shared.command import command
from headatlas.commands.shared.options import Options, ResultsFolder


@dataclass(frozen=True, kw_only=True)
class PageOptions(Options):
    """The options of `page`."""

    folder: ResultsFolder = field(kw_only=False)
    """Folder made by `headatlas survey`, `layers`, `reproduce` or `compare`."""


@command(PageOptions)
def page(options: PageOptions) -> Path:
    """Write the page of an atlas or a comparison again.

    Writes DIR/index.html, one file to open in a browser, without network. Map, grid, sentence and tables show the same
    head, chosen in any of them; search finds heads, relations and examples. The page of a comparison has the heads of
    both models side by side, matched ones linked. Every picture can be saved as SVG or PNG and every table as CSV.

        headatlas page atlas
        headatlas page base-and-tuned
    """
    from headatlas.results.atlas import open_results
    from headatlas.views.page import write_page

    return write_page(open_results(options.folder))
