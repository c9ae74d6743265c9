"""A view as Markdown, as LaTeX with booktabs, and as HTML: whatever a cell holds, it is text there and no markup."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from rich.cells import cell_len

from headatlas.results.view import Column, View

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
    r"|:(?=//)|(?<=www)\.",  # what many readers make a link of without any mark
    re.IGNORECASE,
)
_MARKDOWN_BEGINS = re.compile(r"^(?=[#>+=-])|^\d{1,9}(?=[.)])")  # headings, quotations, lists
_MINUS = re.compile(r"(?<![\w-])-(?=\d)")


def markdown(view: View) -> str:
    """A pipe table, aligned to be read as it stands, with title and notes around it."""
    titles = _own_titles(view.columns)
    rows = [[_markdown_cell(cell) for cell in row] for row in (titles, *view.cells)]
    widths = [max(3, *(cell_len(row[place]) for row in rows)) for place in range(len(titles))]
    numbers = [column.number for column in view.columns]

    def line(row: Sequence[str]) -> str:
        return f"| {' | '.join(map(padded, row, widths, numbers))} |"

    rule = [f"{'-' * (width - 1)}{':' if number else '-'}" for width, number in zip(widths, numbers, strict=True)]
    table = [line(rows[0]), line(rule), *map(line, rows[1:])]
    title, notes = (list(map(markdown_text, texts)) for texts in (view.title, view.notes))
    return "\n\n".join(filter(None, [*title, "\n".join(table), "\n".join(f"- {note}" for note in notes)])) + "\n"


def markdown_text(text: str) -> str:
    """A paragraph on one line, with everything escaped that Markdown would read as more than text."""
    return _MARKDOWN_BEGINS.sub(r"\g<0>\\", _markdown_cell(text))


def _markdown_cell(text: str) -> str:
    return _MARKDOWN_READS.sub(r"\\\g<0>", one_line(text).strip())


def _own_titles(columns: Sequence[Column]) -> list[str]:
    """Titles without a line of groups over them: one met before is told apart by its group."""
    titles: list[str] = []
    for column in columns:
        titles.append(f"{column.group} {column.title}" if column.title in titles else column.title)
    return titles


def latex(view: View) -> str:
    """A booktabs tabular with notes below; the title is a comment above, for the caption is the author's."""
    alignment = "".join("r" if column.number else "l" for column in view.columns)
    lines = [
        "% needs \\usepackage{booktabs}",
        *(f"% {one_line(line)}" for line in view.title),
        f"\\begin{{tabular}}{{{alignment}}}",
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
    """A row; one that begins with `[` or `*` is kept from being read as an argument of the row before it."""
    row = " & ".join(_latex_text(one_line(cell)) for cell in cells)
    return f"{'{}' if row.startswith(('[', '*')) else ''}{row} \\\\"


def _latex_text(text: str) -> str:
    """Text with every character that LaTeX reads as a command escaped, and the minus before a number as one."""
    return _MINUS.sub("$-$", _LATEX_READS.sub(lambda found: _LATEX[found.group()], text))


def html(view: View) -> str:
    """A table with its title as the caption and its notes below."""
    rows = "".join(f"<tr>{''.join(map(_html_cell, view.columns, row))}</tr>" for row in view.cells)
    titles = "".join(f"<th{_html_side(column)}>{escape(column.title)}</th>" for column in view.columns)
    groups = "".join(
        f'<th class="group" colspan="{len(list(members))}">{escape(group)}</th>'
        for group, members in groupby(view.columns, key=lambda column: column.group)
    )
    grouped = f"<tr>{groups}</tr>" if any(column.group for column in view.columns) else ""
    caption = f"<caption>{'<br>'.join(map(escape, view.title))}</caption>" if view.title else ""
    notes = "".join(f"<p>{escape(note)}</p>" for note in view.notes)
    return f"<table>{caption}<thead>{grouped}<tr>{titles}</tr></thead><tbody>{rows}</tbody></table>{notes}"


def _html_cell(column: Column, cell: str) -> str:
    return f"<td{_html_side(column)}>{escape(cell)}</td>"


def _html_side(column: Column) -> str:
    return "" if column.number else ' class="text"'


def padded(text: str, width: int, right: bool) -> str:
    """Text filled with blanks to a width, at the left where it is set to the right."""
    blanks = " " * (width - cell_len(text))
    return f"{blanks}{text}" if right else f"{text}{blanks}"


def one_line(text: str) -> str:
    """A cell's text without line breaks, tabs and what else could move the cursor."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)
