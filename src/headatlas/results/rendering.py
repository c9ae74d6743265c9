"""A view as text: for a terminal, as CSV, as Markdown or as LaTeX.

CSV has the values as they are, for programs: a word such as `=` or `-LRB-` stays what it is in the treebank, though a
spreadsheet may take what begins with `=`, `+`, `-` or `@` for a formula. The others have the values as people read
them, with title and notes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import get_args

from rich.cells import cell_len

from headatlas.choices import TableFormat
from headatlas.errors import SettingError
from headatlas.results.markup import latex, markdown, one_line, padded
from headatlas.results.view import Column, View

FORMATS: tuple[TableFormat, ...] = get_args(TableFormat)

SUFFIXES: dict[str, TableFormat] = {".txt": "terminal", ".csv": "csv", ".md": "markdown", ".tex": "latex"}

GAP = "  "
PROSE_WIDTH = 100  # lines of title and notes, where the terminal is wider


def choose_format(named: str | None, out: Path | None) -> TableFormat:
    """The format that is named, else the one that the suffix of the file means, else that of a terminal."""
    if named is not None:
        for form in FORMATS:
            if form == named:
                return form
        raise SettingError(f"--format {named} is unknown. Use one of: {', '.join(FORMATS)}.")
    if out is None:
        return "terminal"
    if out.suffix.lower() not in SUFFIXES:
        raise SettingError(f"--out {out}: no format has this suffix. Use {', '.join(SUFFIXES)}, or name a --format.")
    return SUFFIXES[out.suffix.lower()]


def render(view: View, form: TableFormat, width: int | None = None) -> str:
    """The view as text in one of four formats, ending with a newline.

    `width` is that of the terminal: a wider table goes on below in further blocks, with its key columns repeated, and
    no cell is ever cut. None is as wide as it takes.
    """
    forms: dict[TableFormat, Callable[[View], str]] = {
        "terminal": lambda shown: _terminal(shown, width),
        "csv": lambda shown: str(shown.frame.to_csv(index=False, lineterminator="\n")),
        "markdown": markdown,
        "latex": latex,
    }
    return forms[form](view)


def _terminal(view: View, width: int | None) -> str:
    rows = [[one_line(cell) for cell in row] for row in view.cells]
    widths = [
        max([cell_len(column.title), *(cell_len(row[place]) for row in rows)])
        for place, column in enumerate(view.columns)
    ]
    blocks = [_block(view.columns, rows, widths, places) for places in _blocks(view, widths, width)]
    parts = [_prose(view.title, width), *blocks, _prose(view.notes, width)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _prose(lines: Sequence[str], width: int | None) -> str:
    return "\n".join(textwrap.fill(one_line(line), min(width or PROSE_WIDTH, PROSE_WIDTH)) for line in lines)


def _blocks(view: View, widths: Sequence[int], width: int | None) -> list[list[int]]:
    """Which columns stand side by side: all where they fit, else each group, else as many as fit; the keys always."""

    def fits(places: Sequence[int]) -> bool:
        return width is None or _total(widths, places) <= width

    everything = list(range(len(view.columns)))
    if fits(everything):
        return [everything]
    keys, blocks = everything[: view.keys], []
    for _, members in groupby(everything[view.keys :], key=lambda place: view.columns[place].group):
        block = list(keys)
        for place in members:
            if not fits([*block, place]) and len(block) > len(keys):
                blocks.append(block)
                block = list(keys)
            block.append(place)
        blocks.append(block)
    return blocks


def _block(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], widths: Sequence[int], places: Sequence[int]
) -> str:
    def line(texts: Sequence[str]) -> str:
        return GAP.join(padded(texts[place], widths[place], columns[place].number) for place in places).rstrip()

    titles = line([column.title for column in columns])
    rule = "-" * _total(widths, places)
    return "\n".join([*_group_line(columns, widths, places), titles, rule, *map(line, rows)])


def _group_line(columns: Sequence[Column], widths: Sequence[int], places: Sequence[int]) -> Iterator[str]:
    """The groups' names over their columns, each drawn out to their width."""
    if any(columns[place].group for place in places):
        names = []
        for name, members in groupby(places, key=lambda place: columns[place].group):
            names.append((f"{name} " if name else "").ljust(_total(widths, list(members)), "-" if name else " "))
        yield GAP.join(names).rstrip()


def _total(widths: Sequence[int], places: Sequence[int]) -> int:
    """How wide a line of these columns is."""
    return sum(widths[place] for place in places) + len(GAP) * (len(places) - 1)
