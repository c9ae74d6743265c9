"""What `table` prints: rows for people or for programs, or where it wrote them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from headatlas.commands.shared.printing import RowOptions
from headatlas.commands.shared.report import Listed, Written
from headatlas.commands.table.options import TableOptions
from headatlas.errors import SettingError
from headatlas.files import write_text
from headatlas.results.rendering import choose_format, render
from headatlas.results.view import View


def report_table(view: View, options: TableOptions, printing: RowOptions) -> Iterator[Listed | Written]:
    """Print a table, or write it into a file."""
    out = None if options.out is None else Path(options.out)
    chosen = choose_format(options.format, out)
    listing = f"headatlas table {options.folder}", "list the tables"
    if out is not None:
        write_text(out, render(view, chosen))
        yield Written(out, files=(out,), next=(listing,))
    elif printing.json:
        if options.format is not None:
            raise SettingError("--json and --format both say how to print the table. Remove one of the two options.")
        yield Listed((), view.records(), next=(listing,) if options.name else ())
    else:
        width = shutil.get_terminal_size(fallback=(0, 0)).columns or None
        yield Listed((render(view, chosen, width).removesuffix("\n"),), [])
