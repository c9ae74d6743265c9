"""`headatlas table`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headatlas.choices import TableFormat
from headatlas.commands.shared.command import command
from headatlas.commands.shared.completing import complete_columns, complete_tables
from headatlas.commands.shared.options import Options, Positive, ResultsFolder

if TYPE_CHECKING:
    from headatlas.results.view import View

SORT = Parameter(metavar="COLUMN", allow_leading_hyphen=True, completer=complete_columns)


@dataclass(frozen=True, kw_only=True)
class TableOptions(Options):
    """The options of `table`."""

    folder: ResultsFolder = field(kw_only=False)
    """Folder made by `headatlas survey` or another command that writes tables."""
    name: Annotated[str | None, Parameter(completer=complete_tables)] = field(default=None, kw_only=False)
    """A table, such as positions or entropy, or findings. dependencies, coreference and probes are shown with the
    published figures beside them. Omit it to list all tables."""
    format: TableFormat | None = None
    """How to write it. Default: as the suffix of --out says, else terminal."""
    out: Annotated[str | Path | None, Parameter(metavar="FILE")] = None
    """File to write to (.txt, .csv, .md, .tex) instead of the screen."""
    rows: Positive | None = None
    """Show at most this many rows."""
    sort: Annotated[str | None, SORT] = None
    """Column to sort by: numbers from the largest, text from A. -COLUMN reverses the order."""
    raw: bool = False
    """Show dependencies, coreference and probes as plain tables, with a row for every head."""


@command(TableOptions)
def table(options: TableOptions) -> View:
    """Print a table of an atlas or a comparison, for the screen or for a paper.

    CSV holds the words of a corpus as they are. Import it into a spreadsheet as text: a word that begins with = would
    be taken for a formula.

        headatlas table atlas
        headatlas table atlas positions --sort value --rows 10
        headatlas table atlas dependencies --out table1.tex
        headatlas table atlas dependencies --raw --format csv > every_head.csv
        headatlas table atlas --json
    """
    from headatlas.results.atlas import open_results
    from headatlas.views.published.views import list_tables, view_of

    results = open_results(options.folder)
    if options.name is None:
        view = replace(list_tables(results), notes=(f"Next: headatlas table {options.folder} NAME",))
    else:
        view = view_of(results, options.name, raw=options.raw)
    return view.chosen(options.sort, options.rows)
