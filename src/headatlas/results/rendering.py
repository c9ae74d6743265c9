"""A view as text: for a terminal, as CSV, as Markdown or as LaTeX with booktabs.

CSV has the values as they are, for programs: a word such as `=` or `-LRB-` stays what it is in the treebank, though a
spreadsheet may read what begins with `=`, `+`, `-` or `@` as a formula. The other formats have the values as people
read them, with title and notes; whatever a cell holds, it is text there and never markup.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import get_args

from rich.cells import cell_len

from headatlas.choices import TableFormat
from headatlas.errors import SettingError
from headatlas.results.view import Column, View

FORMATS: tuple[TableFormat, ...] = get_args(TableFormat)

SUFFIXES: dict[str, TableFormat] = {".txt": "terminal", ".csv": "csv", ".md": "markdown", ".tex": "latex"}

GAP = "  "
NARROWEST = 24  # columns of a text that is broken over several lines
PROSE_WIDTH = 100  # of title and notes, if the terminal is wider

_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "->": r"$\rightarrow$",
}
_LATEX_READS = re.compile(r"->|[&%$#_{}\\~^<>|]")
_MARKDOWN_READS = re.compile(
    r"[\\|*`<~\[\]&$@]|(?<![^\W_])_|_(?![^\W_])"  # emphasis, code, tags, links, entities, formulas
    r"|:(?=//)|(?<=www)\.",  # what many readers turn into a link without any mark
    re.IGNORECASE,
)
_MARKDOWN_BEGINS = re.compile(r"^(?=[#>+=-])|^\d{1,9}(?=[.)])")  # headings, quotations, lists
_MINUS = re.compile(r"(?<![\w-])-(?=\d)")


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

    `width` is that of the terminal, None for no limit: a wider table continues below in further blocks that repeat its
    key columns. No cell is ever cut.
    """
    if form == "terminal":
        return _terminal(view, width)
    if form == "csv":
        return str(view.frame.to_csv(index=False, lineterminator="\n"))
    return markdown(view) if form == "markdown" else latex(view)


def _terminal(view: View, width: int | None) -> str:
    titles = [column.title for column in view.columns]
    rows = [[_one_line(cell) for cell in row] for row in view.cells]
    rows = _broken(view.columns, titles, rows, width)
    widths = _widths([titles, *rows])
    table = _Block(view.columns, [titles, *rows], widths)
    blocks = [table.text(places) for places in table.fitting(view.keys, width)]
    parts = [_prose(view.title, width), *blocks, _prose(view.notes, width)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, cells)) for cells in zip(*rows, strict=True)]


def _broken(
    columns: Sequence[Column], titles: Sequence[str], rows: list[list[str]], width: int | None
) -> list[list[str]]:
    """The rows, with the cells of the widest column of text broken between words if the table fits only so."""
    widths = _widths([titles, *rows])
    texts = [place for place, column in enumerate(columns) if not column.number]
    if width is None or not texts:
        return rows
    widest = max(texts, key=lambda place: widths[place])
    room = width - (sum(widths) + len(GAP) * (len(widths) - 1) - widths[widest])
    if not max(NARROWEST, cell_len(titles[widest])) <= room < widths[widest]:
        return rows
    broken = []
    for row in rows:
        parts = textwrap.wrap(row[widest], room, break_on_hyphens=False) or [""]
        broken += [[part if place == widest else "" for place in range(len(row))] for part in parts]
        broken[-len(parts)] = [*row[:widest], parts[0], *row[widest + 1 :]]
    return broken


def _prose(lines: Sequence[str], width: int | None) -> str:
    """Lines broken between words, with paths in one piece."""
    room = min(width or PROSE_WIDTH, PROSE_WIDTH)
    wrapper = textwrap.TextWrapper(room, break_on_hyphens=False, break_long_words=False)
    return "\n".join(wrapper.fill(_one_line(line)) for line in lines)


class _Block:
    """The columns of a table for a terminal, of which some are set side by side at a time."""

    def __init__(self, columns: Sequence[Column], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> None:
        self.columns, self.rows, self.widths = columns, rows, widths

    def fitting(self, keys: int, width: int | None) -> list[list[int]]:
        """Which columns are side by side: all if they fit, else each group, else as many as fit; the keys always."""
        places = list(range(len(self.columns)))
        if width is None or self._total(places) <= width:
            return [places]
        blocks = []
        for _, members in groupby(places[keys:], key=lambda place: self.columns[place].group):
            block = places[:keys]
            for place in members:
                if self._total([*block, place]) > width and len(block) > keys:
                    blocks.append(block)
                    block = places[:keys]
                block.append(place)
            blocks.append(block)
        return blocks

    def text(self, places: Sequence[int]) -> str:
        """These columns, with the names of their groups drawn out over them."""
        groups = []
        for name, members in groupby(places, key=lambda place: self.columns[place].group):
            groups.append((f"{name} " if name else "").ljust(self._total(list(members)), "-" if name else " "))
        lines = [
            GAP.join(_padded(row[place], self.widths[place], self.columns[place].number) for place in places).rstrip()
            for row in self.rows
        ]
        heading = [GAP.join(groups).rstrip()] if any(self.columns[place].group for place in places) else []
        return "\n".join([*heading, lines[0], "-" * self._total(places), *lines[1:]])

    def _total(self, places: Sequence[int]) -> int:
        return sum(self.widths[place] for place in places) + len(GAP) * (len(places) - 1)


def markdown(view: View) -> str:
    """A pipe table, aligned so that its source is readable too, with title and notes around it."""
    titles: list[str] = []
    for column in view.columns:  # without a line of groups above, a repeated title needs its group's name
        titles.append(f"{column.group} {column.title}" if column.title in titles else column.title)
    rows = [[_markdown_cell(cell) for cell in row] for row in (titles, *view.cells)]
    widths = [max(3, *map(cell_len, cells)) for cells in zip(*rows, strict=True)]
    numbers = [column.number for column in view.columns]

    def line(row: Sequence[str]) -> str:
        return f"| {' | '.join(map(_padded, row, widths, numbers))} |"

    rule = [f"{'-' * (width - 1)}{':' if number else '-'}" for width, number in zip(widths, numbers, strict=True)]
    table = [line(rows[0]), line(rule), *map(line, rows[1:])]
    notes = "\n".join(f"- {markdown_text(note)}" for note in view.notes)
    return "\n\n".join(filter(None, [*map(markdown_text, view.title), "\n".join(table), notes])) + "\n"


def markdown_text(text: str) -> str:
    """A paragraph on one line, with everything escaped that Markdown would read as more than text."""
    return _MARKDOWN_BEGINS.sub(r"\g<0>\\", _markdown_cell(text))


def _markdown_cell(text: str) -> str:
    return _MARKDOWN_READS.sub(r"\\\g<0>", _one_line(text).strip())


def latex(view: View) -> str:
    """A booktabs tabular with notes below; the title is a comment above, because authors write their own captions."""
    lines = [
        "% needs \\usepackage{booktabs}",
        *(f"% {_one_line(line)}" for line in view.title),
        f"\\begin{{tabular}}{{{''.join('r' if column.number else 'l' for column in view.columns)}}}",
        "\\toprule",
        *_latex_groups(view.columns),
        _latex_row([column.title for column in view.columns]),
        "\\midrule",
        *map(_latex_row, view.cells),
        "\\bottomrule",
        "\\end{tabular}",
        *(f"\\par{{\\footnotesize {_latex_text(note)}\\par}}" for note in view.notes),
    ]
    return "\n".join(lines) + "\n"


def _latex_groups(columns: Sequence[Column]) -> Iterator[str]:
    """A spanning head over each group, with a rule under it."""
    if not any(column.group for column in columns):
        return
    heads, rules, first = [], [], 1
    for group, members in groupby(columns, key=lambda column: column.group):
        span = len(list(members))
        heads.append(f"\\multicolumn{{{span}}}{{c}}{{{_latex_text(group)}}}")
        rules += [f"\\cmidrule(lr){{{first}-{first + span - 1}}}"] if group else []
        first += span
    yield f"{' & '.join(heads)} \\\\"
    yield " ".join(rules)


def _latex_row(cells: Sequence[str]) -> str:
    """A row. One that begins with `[` or `*` would be read as an argument of the row above, so `{}` precedes it."""
    row = " & ".join(_latex_text(_one_line(cell)) for cell in cells)
    return f"{'{}' if row.startswith(('[', '*')) else ''}{row} \\\\"


def _latex_text(text: str) -> str:
    """Text with every character escaped that LaTeX reads as a command, and a minus sign before numbers."""
    return _MINUS.sub("$-$", _LATEX_READS.sub(lambda match: _LATEX[match.group()], text))


def _padded(text: str, width: int, right: bool) -> str:
    """Text filled with blanks to a width in terminal cells."""
    blanks = " " * (width - cell_len(text))
    return f"{blanks}{text}" if right else f"{text}{blanks}"


def _one_line(text: str) -> str:
    """Text without line breaks, tabs and other characters that move the cursor."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)
