"""Four formats: nothing cut on a narrow screen, nothing read as markup, numbers as they are in CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from headatlas.errors import SettingError
from headatlas.results.rendering import choose_format, render
from headatlas.results.view import Column, View, plain_view

PRINTABLE = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])


def grouped():
    columns = (
        Column("relation"),
        Column("n", "ours", True),
        Column("acc.", "ours", True),
        Column("acc.", "theirs", True),
    )
    cells = (("obj", "12", "51.0", "86.8"), ("nmod:poss", "1", "9.5", ""))
    return View(pd.DataFrame({"x": [1, 2]}), columns, cells, ("A title",), ("A note.",))


def test_a_terminal_table_in_full():
    assert render(grouped(), "terminal").split("\n") == [
        "A title",
        "",
        "           ours ---  theirs",
        "relation    n  acc.  acc.",
        "-------------------------",
        "obj        12  51.0  86.8",
        "nmod:poss   1   9.5",
        "",
        "A note.",
        "",
    ]


def test_a_narrow_terminal_gets_the_groups_below_one_another():
    lines = render(grouped(), "terminal", 20).splitlines()
    assert lines[2:7] == [
        "           ours ---",
        "relation    n  acc.",
        "-" * 19,
        "obj        12  51.0",
        "nmod:poss   1   9.5",
    ]
    assert lines[8:13] == ["           theirs", "relation   acc.", "-" * 15, "obj        86.8", "nmod:poss"]


@given(
    st.lists(st.lists(st.text(PRINTABLE, max_size=9), min_size=4, max_size=4), min_size=1, max_size=4),
    st.integers(1, 60),
)
def test_no_cell_is_ever_cut_or_lost(rows, width):
    view = plain_view(pd.DataFrame(rows, columns=list("abcd"), dtype="str"))
    lines = render(view, "terminal", width).split("\n")
    text = " ".join(" ".join(lines).split())
    for row in rows:
        for cell in row:
            assert " ".join(cell.split()) in text


def test_lines_fit_the_width_where_columns_do():
    frame = pd.DataFrame({f"column{n}": [n / 7, n * 1.5] for n in range(20)})
    lines = render(plain_view(frame), "terminal", 80).splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert sum(line.startswith("column0") for line in lines) > 1


def test_wide_characters_keep_the_columns_in_line():
    lines = render(plain_view(pd.DataFrame({"word": ["中文", "ab"], "n": [1, 22]})), "terminal").splitlines()
    assert len({cell_len(line) for line in lines}) == 1


def test_no_cell_can_break_the_line_or_move_the_cursor():
    lines = render(plain_view(pd.DataFrame({"word": ["a\nb", "\x1b[31mred", "x\u2028y"]})), "terminal").split("\n")
    assert lines[2:] == ["a b", " [31mred", "x y", ""]


def test_csv_has_plain_values():
    frame = pd.DataFrame({"word": ['a,"b', "c"], "value": [1 / 3, None], "head": pd.array([1, None], dtype="Int64")})
    rows = list(csv.reader(io.StringIO(render(plain_view(frame, "title"), "csv"))))
    assert rows == [["word", "value", "head"], ['a,"b', str(1 / 3), "1"], ["c", "", ""]]


@pytest.mark.parametrize(
    ("named", "out", "form"),
    [
        (None, None, "terminal"),
        ("csv", None, "csv"),
        (None, "t.tex", "latex"),
        (None, "t.MD", "markdown"),
        ("latex", "t.any", "latex"),
    ],
)
def test_the_format_is_named_or_meant_by_the_suffix(named, out, form):
    assert choose_format(named, Path(out) if out else None) == form


def test_unknown_formats_and_suffixes_are_refused():
    with pytest.raises(SettingError, match="terminal, csv, markdown, latex"):
        choose_format("html", None)
    with pytest.raises(SettingError, match=r"\.txt, \.csv, \.md, \.tex"):
        choose_format(None, Path("table.docx"))
