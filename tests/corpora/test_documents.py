"""Documents in place of files: what counts as one, and that they are read as a file with the same text is."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.corpora.documents import documents_in
from headatlas.corpora.files import describe_files, find_files
from headatlas.corpora.text import read_text
from headatlas.errors import CorpusError

DOCUMENTS = ["It rained. Nobody minded.", "  ", "The cat\n\n  sat.", "我喜欢猫。"]


class Column:
    """A column of a data set: it can be iterated, and nothing else."""

    def __iter__(self):
        return iter(DOCUMENTS)


def lines_of(text):
    (path,) = find_files(text, "text")
    return [(line.document, line.text) for line in read_text([path])], describe_files([path])[0]["file"]


@pytest.mark.parametrize("form", [list, tuple, iter, lambda _: Column()])
def test_documents_keep_their_order_and_lines(form):
    lines, origin = lines_of(form(DOCUMENTS))
    expected = ["It rained.", "Nobody minded."], ["The cat", "sat."], ["我喜欢猫。"]
    assert lines == [(number, text) for number, texts in enumerate(expected) for text in texts]
    assert origin == "3 documents in memory"


def test_a_text_has_an_empty_line_between_documents_as_a_file_has():
    assert lines_of("It rained.\nNobody minded.\n\nThe cat sat.")[0] == [
        (0, "It rained."),
        (0, "Nobody minded."),
        (1, "The cat sat."),
    ]


def test_rows_of_wikitext_are_recognised():
    rows = [
        "",
        " = A Title = \n",
        "",
        " First . It goes on . \n",
        " = = A Part = = \n",
        " Second . \n",
        " = B = \n",
        " Third . ",
    ]
    assert lines_of(rows)[0] == [(0, "First ."), (0, "It goes on ."), (0, "Second ."), (1, "Third .")]


@pytest.mark.parametrize(
    "text", ["wiki.txt", "my corpus.txt", "wiki", ["a.txt", "b c"], Path("a b"), "s3://a/b c.txt", []]
)
def test_what_looks_like_a_file_is_one(text):
    assert documents_in(text) is None


def test_a_file_is_a_file_whatever_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("some words").write_text("the dog\n")
    assert find_files("some words", "text") == [Path("some words")]
    assert documents_in("other words") == ["other words"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ([""], "No text is given"),
        (iter([]), "No text is given"),
        (["a b", 3], "Document 2 is not a text but of type int"),
        ([{"text": "a"}], r'Document 1 .* Give one column, such as dataset\["text"\]'),
        (["the \ud800 dog"], "Document 1 holds half of a character"),
        (["a.txt", "b.txt"], "a.txt: no such file"),
    ],
)
def test_what_is_not_text_is_named(text, problem):
    with pytest.raises(CorpusError, match=problem):
        find_files(text, "text")


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=1))
def test_nothing_but_space_is_lost(documents):
    words = "".join("".join(document.split()) for document in documents)
    if not words:
        return
    (path,) = find_files(iter(documents), "text")
    assert "".join(path.read_text(encoding="utf-8").split()) == words
