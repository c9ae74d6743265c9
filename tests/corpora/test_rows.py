"""Tables of text: TSV, CSV and JSON lines, good and bad."""

from __future__ import annotations

import gzip

import pytest

from headatlas.corpora.labelled import read_labelled, read_translations
from headatlas.corpora.rows import read_rows
from headatlas.errors import CorpusError, SettingError


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


def test_tsv_takes_quotes_as_text(file):
    path = file("a.tsv", "label\ttext\nyes\t\"so be it\n\nno\tcan't, won't\r\n")
    rows = list(read_rows(path, ["text", "label"]))
    assert [(row.line, row.cells) for row in rows] == [(2, ('"so be it', "yes")), (4, ("can't, won't", "no"))]


def test_csv_is_quoted_and_may_span_lines(file):
    path = file("a.csv", 'text,label\n"one, two",yes\n"three\nfour",no\nfive,yes\n')
    rows = list(read_rows(path, ["text", "label"]))
    assert [(row.line, row.cells[0]) for row in rows] == [(2, "one, two"), (3, "three\nfour"), (5, "five")]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_json_lines_with_numbers_as_labels(file, name):
    path = file(name, '{"text": "one", "label": 1, "more": null}\n\n{"text": "two", "label": 0}\n')
    assert [(one.texts, one.label, one.line) for one in read_labelled([path])] == [
        (("one",), "1", 1),
        (("two",), "0", 3),
    ]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.txt", "text\tlabel\n", "unknown suffix"),
        ("a.tsv", "text\tkind\nx\ty\n", "line 1: has no column 'label'. It has: text, kind"),
        ("a.tsv", "text\tlabel\nx\n", "line 2: has 1 columns, but the first line names 2"),
        ("a.tsv", "text\tlabel\n", "has no rows"),
        ("a.tsv", "", "has no rows"),
        ("a.tsv", "text\tlabel\nx\t \n", "line 2: has no label"),
        ("a.tsv", "text\tlabel\n \ty\n", "line 2: has an empty text"),
        ("a.csv", 'text,label\n"x,y\n', "line 2: is not valid CSV"),
        ("a.jsonl", "{'text': 1}\n", "line 1: is not valid JSON"),
        ("a.jsonl", "[1]\n", "line 1: is not a JSON object"),
        ("a.jsonl", '{"text": "a", "label": "b"}\n{"text": ["a"], "label": "b"}\n', "line 2: has no text 'text'"),
    ],
)
def test_malformed_files_are_named(file, name, text, problem):
    with pytest.raises(CorpusError) as caught:
        read_labelled([file(name, text)])
    assert name in str(caught.value)
    assert problem in str(caught.value)


def test_pairs_by_the_usual_or_by_other_names(file):
    usual = file("a.tsv", "text\ttext2\tlabel\na\tb\tc\n")
    other = file("b.csv", "premise,hypothesis,gold\na,b,c\n")
    assert read_labelled([usual])[0].texts == read_labelled([other], ["premise", "hypothesis", "gold"])[0].texts
    with pytest.raises(SettingError, match="name two columns"):
        read_labelled([usual], ["text"])
    with pytest.raises(CorpusError, match="mixes pairs of texts"):
        read_labelled([usual, file("c.tsv", "text\tlabel\na\tc\n")])


def test_translations(file):
    path = file("a.tsv", "source\ttarget\nein Hund\ta dog\n")
    assert [(one.id, one.source, one.target) for one in read_translations([path])] == [("0.0", "ein Hund", "a dog")]
    with pytest.raises(CorpusError, match="line 2: has an empty source or target"):
        read_translations([file("b.tsv", "source\ttarget\n\ta dog\n")])
    with pytest.raises(SettingError, match="name two columns"):
        read_translations([path], ["source"])
