"""What is held of a file at once is bounded, however large the file: long lines, sentences, documents, packed files."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path

import pytest

from headatlas.corpora.coreference import brackets, read
from headatlas.corpora.coreference.read import read_coreference
from headatlas.corpora.labelled import read_labelled, read_translations
from headatlas.corpora.minimal_pairs import read_minimal_pairs
from headatlas.corpora.spans.tasks import read_span_texts, tasks_in
from headatlas.corpora.text import read_text
from headatlas.corpora.treebanks import spacy_docs
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.errors import LONGEST_MESSAGE, AtlasError, CorpusError, HeadatlasError, SettingError
from headatlas.files import DEEPEST_JSON, parse_json
from headatlas.limits import LARGEST_MEMBER, LONGEST_LINE
from headatlas.probes.vectors import read_vector_file
from patience import cpu_seconds

GIGABYTE = 1_000_000_000
ROW = b"1\tdog\t_\tNOUN\tNN\t_\t0\troot\t_\t_\n"
READERS: dict[str, Callable[[Path], object]] = {
    "text": lambda path: list(read_text([path])),
    "conllu": lambda path: list(read_treebank([path], "conllu")),
    "conllx": lambda path: list(read_treebank([path], "conllx")),
    "head-label": lambda path: list(read_treebank([path], "head-label")),
    "auto": lambda path: list(read_treebank([path])),
    "conll2012": lambda path: list(read_coreference([path], "conll2012")),
    "corefud": lambda path: list(read_coreference([path], "corefud")),
    "brackets": lambda path: list(read_coreference([path], "brackets")),
    "labelled": lambda path: read_labelled([path]),
    "translations": lambda path: read_translations([path]),
    "pairs": lambda path: read_minimal_pairs([path]),
    "vectors": lambda path: list(read_vector_file(path, {"the"})),
    "entities": lambda path: list(read_span_texts([path], ["entities"], 0, Counter())),
    "relations": lambda path: list(read_span_texts([path], ["relations"], 0, Counter())),
    "jiant": lambda path: list(read_span_texts([path], ["mine"], 0, Counter())),
    "tasks": tasks_in,
}
SUFFIXES = {"labelled": ".csv", "translations": ".tsv", "pairs": ".jsonl", "jiant": ".jsonl"}


def refused(reader: str, path: Path, match: str, most_bytes: float = 20e6) -> CorpusError:
    """The error that a reader raises, with no more memory than that."""
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match=match) as raised:
            READERS[reader](path)
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()
    assert len(str(raised.value)) <= LONGEST_MESSAGE
    return raised.value


@pytest.mark.parametrize("reader", READERS)
def test_a_gigabyte_without_a_line_break(tmp_path, reader):
    """The file is sparse: a gigabyte of zero bytes after a megabyte of letters takes no room."""
    path = tmp_path / f"long{SUFFIXES.get(reader, '.txt')}"
    with path.open("wb") as file:
        file.write(b"a" * (LONGEST_LINE + 1))
        file.truncate(GIGABYTE)
    error = refused(reader, path, f"has more than {LONGEST_LINE:,} bytes")
    assert error.line == 1


def test_a_gigabyte_without_a_line_break_takes_no_memory(tmp_path):
    """As the system counts it, in a process of its own."""
    with (tmp_path / "long.txt").open("wb") as file:
        file.write(b"a" * (LONGEST_LINE + 1))
        file.truncate(GIGABYTE)
    run = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path / "long.txt")], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 20_000, "kilobytes"


PEAK = """
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from headatlas.corpora.text import read_text
from headatlas.errors import CorpusError
before = getrusage(RUSAGE_SELF).ru_maxrss
try:
    list(read_text([Path(sys.argv[1])]))
except CorpusError:
    print(getrusage(RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.fixture(scope="module")
def bomb():
    """Fifty million letters."""
    return gzip.compress(b"a" * 50_000_000, 1)


@pytest.mark.parametrize("reader", READERS)
def test_a_gzip_bomb_without_a_line_break(tmp_path, bomb, reader):
    path = tmp_path / f"bomb{SUFFIXES.get(reader, '.txt')}.gz"
    path.write_bytes(bomb)
    refused(reader, path, "has more than")


@pytest.mark.parametrize("reader", READERS)
def test_lines_of_a_million_columns_or_brackets(tmp_path, reader):
    path = tmp_path / f"wide{SUFFIXES.get(reader, '.txt')}"
    for character in ("(", "[", "\t", " ", ",", "1-"):
        path.write_text("a" + character * (LONGEST_LINE // len(character) - 10) + "\n", encoding="utf-8")
        if reader == "text":
            assert READERS[reader](path)
            continue
        with pytest.raises(CorpusError) as raised:
            READERS[reader](path)
        assert len(str(raised.value)) <= LONGEST_MESSAGE


@pytest.mark.parametrize("start", ["", "1\t", "#", "# a = ", "(", "a b ", '{"text": "', "= ", ".", '","'])
@pytest.mark.parametrize("filling", [" ", "(", "a", "-", "1", "=", '"', "<e1>", ". "])
def test_every_line_comes_to_an_end(tmp_path, start, filling):
    """A pattern that goes back over a line again and again would take hours for one of these."""
    path = tmp_path / "a.txt"
    path.write_text(start + filling * (900_000 // len(filling)) + "!\n", encoding="utf-8")
    for reader in READERS:
        path = path.replace(path.with_suffix(SUFFIXES.get(reader, ".txt")))
        with cpu_seconds(60), suppress(CorpusError, SettingError):
            READERS[reader](path)


@pytest.mark.parametrize(
    ("reader", "row"),
    [
        ("conll2012", "a 0 0 dog NN * - - - - * {mark}\n"),
        ("corefud", "{number}\tdog\t_\tNOUN\tNN\t_\t0\troot\t_\tEntity={mark}\n"),
        ("brackets", "0\tdog\t{mark}\n"),
    ],
)
def test_mentions_within_mentions_without_end(tmp_path, reader, row, monkeypatch):
    monkeypatch.setattr(brackets, "MOST_COVERED", 10_000)
    marks = ["".join(f"({entity}" for entity in range(500)), *["-"] * 100]
    marks += ["".join(f"{entity})" for entity in range(500))]
    text = "".join(row.format(number=number, mark=mark) for number, mark in enumerate(marks, start=1))
    (tmp_path / "a.conll").write_text(text.replace("Entity=-", "_"), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"line 102: the mentions up to here have more than 10,000 words"):
        READERS[reader](tmp_path / "a.conll")


@pytest.mark.parametrize(
    ("reader", "row", "limit", "remedy"),
    [
        ("conllu", ROW, "LARGEST_RECORD", "empty line between sentences"),
        ("conllx", ROW, "LARGEST_RECORD", "empty line between sentences"),
        ("head-label", b"dogs 0-root\n", "LARGEST_RECORD", "empty line between sentences"),
        ("corefud", ROW, "LARGEST_RECORD", "empty line between sentences"),
        ("brackets", b"0\tdog\t(1)\n\n", "LARGEST_DOCUMENT", "#begin document"),
        ("conll2012", b"a 0 0 dog NN * (1)\n\n", "LARGEST_DOCUMENT", "#begin document"),
        ("labelled", b'","\n', "LARGEST_RECORD", "quotation mark is open"),
        ("conllu", b"# a comment\n\n", "LARGEST_RECORD", "only comments"),
        ("entities", b"dogs O\n", "LARGEST_RECORD", "empty line between sentences"),
    ],
)
def test_a_sentence_or_document_without_end(tmp_path, monkeypatch, reader, row, limit, remedy):
    for module in ("files", "coreference.read", "treebanks.columns", "rows"):
        monkeypatch.setattr(f"headatlas.corpora.{module}.{limit}", 10_000, raising=False)
    path = tmp_path / f"endless{SUFFIXES.get(reader, '.txt')}.gz"
    first = b'text,"\n' if reader == "labelled" else b""
    path.write_bytes(gzip.compress(first + row * (20_000_000 // len(row)), 1))
    error = refused(reader, path, f"more than 10,000 characters.*{remedy}", 5e6)
    assert error.line == 1


def test_a_corefud_document_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "MOST_WORDS", 100)
    (tmp_path / "a.conllu").write_bytes((ROW + b"\n") * 200)
    with pytest.raises(CorpusError, match=r"line 1: .*more than 100 words.*# newdoc"):
        list(read_coreference([tmp_path / "a.conllu"], "corefud"))


def test_a_sentence_may_follow_a_sentence_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr("headatlas.corpora.files.LARGEST_RECORD", 2 * len(ROW))
    (tmp_path / "a.conllu").write_bytes((ROW + b"\n") * 5)
    assert len(list(read_treebank([tmp_path / "a.conllu"]))) == 5


def test_a_doc_bin_that_unpacks_to_more_than_it_may(tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    monkeypatch.setattr(spacy_docs, "LARGEST_DOC_BIN", 10_000_000)
    (tmp_path / "a.spacy").write_bytes(zlib.compress(b"\0" * 100_000_000, 9))
    refused("auto", tmp_path / "a.spacy", r"unpacks to more than 10,000,000 bytes.*smaller files")


def test_a_zip_with_a_line_without_end(tmp_path):
    path = tmp_path / "pairs.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("set.jsonl", b"[" * 20_000_000)
    assert LARGEST_MEMBER > 20_000_000
    refused("pairs", path, r"set\.jsonl, line 1: has more than")


def test_vectors_of_a_binary_file_that_promises_for_ever(tmp_path):
    path = tmp_path / "vectors.bin.gz"
    path.write_bytes(gzip.compress(b"99999999999 100\n" + b"the " + b"\0" * 30_000_000))
    refused("vectors", path, "ends or loses its form", 60e6)
    wide = tmp_path / "wide.txt"
    wide.write_text("the" + " 1" * 20_000 + "\n", encoding="utf-8")
    refused("vectors", wide, "1 to 16,384 numbers")


def test_text_without_end_is_read_line_by_line(tmp_path):
    path = tmp_path / "text.txt.gz"
    path.write_bytes(gzip.compress(b"The dog ran.\n" * 2_000_000, 1))
    tracemalloc.start()
    try:
        assert len(list(islice(read_text([path]), 10))) == 10
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_json_that_nests_too_deep_or_cannot_be_written():
    deep = "[" * DEEPEST_JSON + "]" * DEEPEST_JSON
    assert parse_json(f'{{"a": {deep[1:-1]}}}')
    for text in ("[" * 100_000, '{"a":' * 100_000, b"[" * 100_000, f"[{deep}]", f"[1, {{}}, {deep}]"):
        with pytest.raises(ValueError, match="nests too deep"):
            parse_json(text)
    with pytest.raises(ValueError, match="surrogates"):
        parse_json('{"a": "\\ud800"}')
    assert parse_json('["\\ud83d\\ude00"]') == ["\U0001f600"]


@pytest.mark.parametrize("kind", [HeadatlasError, AtlasError, CorpusError])
def test_messages_are_short_and_printable(kind):
    error = kind("a" * 10_000 + "\ud800" * 3 + " Do this.")
    assert len(str(error)) <= LONGEST_MESSAGE
    assert str(error).startswith("aaa")
    assert str(error).endswith("\\ud800 Do this.")
    assert str(kind("short")) == "short"
