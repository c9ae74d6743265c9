"""Markdown and LaTeX: whatever a cell holds, it is text."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from headatlas.results.rendering import latex, markdown
from headatlas.results.view import Column, View, plain_view

HOSTILE = ["a|b", "**bold**", "<script>", "back\\slash", "`code`", "_it_", "two\nlines", "~~gone~~"]


def of(cells):
    return plain_view(pd.DataFrame({"word": cells, "value": [0.5] * len(cells)}))


def test_markdown_keeps_its_columns_whatever_the_cells_hold():
    lines = markdown(of(HOSTILE)).splitlines()
    assert len(lines) == len(HOSTILE) + 2
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in lines)
    assert lines[2].startswith("| a\\|b ")
    assert lines[4].startswith("| \\<script>")
    assert lines[8].startswith("| two lines")


LINKS = [
    "![i](http://a.example/x.png)",
    "[a](javascript:alert(1))",
    "<http://a.example>",
    "http://a.example/x",
    "a@b.example",
]
LINKS += [
    "www.a.example",
    "WWW.a.example",
    "&lt;b&gt;",
    "&#x202e;",
    "[x]: http://a.example",
    "$a$",
    "__bold__",
    "_a_ __b",
    "\\",
]
LINKS += [
    "# title",
    "> said",
    "1. first",
    "12) twelfth",
    "- point",
    "+ more",
    "===",
    "---",
    "\\|",
    "\\\\|a",
    "a\\",
    "<!-- -->",
]
TEXT_TOKENS = {"text", "text_special", "softbreak"}


def parsed(text):
    """What a Markdown reader makes of a text, by kind: the words of each cell and paragraph, and other tokens."""
    reader = MarkdownIt("commonmark").enable("table")
    tokens = [token for token in reader.parse(text) if token.type == "inline"]
    marks = {child.type for token in tokens for child in token.children} - TEXT_TOKENS
    return ["".join(child.content for child in token.children) for token in tokens], marks


@pytest.mark.parametrize("text", [*HOSTILE, *LINKS])
def test_markdown_reads_back_as_the_same_text_and_no_markup(text):
    expected = text.replace("\n", " ")
    view = View(pd.DataFrame(), (Column("word"), Column(text)), ((text, "1"),), (text,), (text,))
    texts, marks = parsed(markdown(view))
    assert texts == [expected, "word", expected, expected, "1", expected]
    assert not marks
    assert not re.search(r"(?<!\\)(://|www\.|@)", markdown(view), re.IGNORECASE), "no link without any mark"


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=12))
def test_markdown_of_any_cell_is_text(cell):
    texts, marks = parsed(markdown(of([cell])))
    assert not marks
    assert texts[2] == cell.strip()


def test_markdown_aligns_numbers_and_tells_equal_titles_apart():
    columns = (Column("relation"), Column("acc.", "ours", True), Column("acc.", "theirs", True))
    view = View(pd.DataFrame(), columns, (("obj", "1.0", "22.5"),), ("Title",), ("Note.",))
    assert markdown(view).splitlines() == [
        "Title",
        "",
        "| relation | acc. | theirs acc. |",
        "| -------- | ---: | ----------: |",
        "| obj      |  1.0 |        22.5 |",
        "",
        "- Note.",
    ]


def test_names_with_underscores_stay_readable():
    assert "| baseline_offset |" in markdown(plain_view(pd.DataFrame({"baseline_offset": [-2]})))


def test_latex_in_full():
    columns = (Column("relation"), Column("acc.", "ours", True), Column("95 %", "ours", True), Column("dir.", "theirs"))
    view = View(
        pd.DataFrame(), columns, (("a_b & c", "-1.0", "40.0 (-2)", "d->h"),), ("5 % of\nit",), ("8-10 is {one}.",)
    )
    assert latex(view).splitlines() == [
        "% needs \\usepackage{booktabs}",
        "% 5 % of it",
        "\\begin{tabular}{lrrl}",
        "\\toprule",
        "\\multicolumn{1}{c}{} & \\multicolumn{2}{c}{ours} & \\multicolumn{1}{c}{theirs} \\\\",
        "\\cmidrule(lr){2-3} \\cmidrule(lr){4-4}",
        "relation & acc. & 95 \\% & dir. \\\\",
        "\\midrule",
        "a\\_b \\& c & $-$1.0 & 40.0 ($-$2) & d$\\rightarrow$h \\\\",
        "\\bottomrule",
        "\\end{tabular}",
        "\\par{\\footnotesize 8-10 is \\{one\\}.\\par}",
    ]


@pytest.mark.parametrize("cell", ["[SEP]", "*"])
def test_a_row_is_not_read_as_an_argument_of_the_one_before(cell):
    assert f"\\midrule\n{{}}{cell} & " in latex(of([cell]))


@given(st.text(max_size=12))
def test_latex_never_sees_a_bare_special_character(text):
    row = latex(of([f"x{text}"])).split("\\midrule\n")[1].split(" & 0.5000 \\\\")[0]
    known = r"\\text(backslash|asciitilde|asciicircum|less|greater|bar)\{\}|\\[&%$#_{}]|\$-\$|\$\\rightarrow\$"
    assert not re.search(r"[&%$#_{}\\~^]", re.sub(known, "", row))
