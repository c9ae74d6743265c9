"""Documents with keyphrases from every layout, good and bad."""

from __future__ import annotations

import json
import zipfile
from collections import Counter

import pytest

from headatlas.commands.keyphrases.reading import TWO_LISTS, read_keyphrases
from headatlas.errors import CorpusError

INSPEC = {
    "7.abstr": "  A long\r\nThe abstract of\n\tseven.\r\n",
    "7.uncontr": "long abstracts; seven;\n\tlong abstracts\r\n",
    "7.contr": "numbers",
    "12.abstr": " \n",
    "12.uncontr": "nothing",
    "13.abstr": "No phrases here",
}
FOLDERS = {
    "x/docsutf8/a.txt": "Alpha beta.\nGamma",
    "x/keys/a.key": "alpha  beta\n\ngamma\nalpha beta\n",
    "x/lan.txt": "en",
}


def folder_of(files, path):
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def zip_of(files, path):
    with zipfile.ZipFile(path, "w") as made:
        for name, content in files.items():
            made.writestr(name, content)
    return path


def json_lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_hard_line_breaks_are_unfolded_in_folders_too_and_two_lists_are_counted(tmp_path):
    files = {
        "Inspec/docsutf8/114.txt": "Quantum games\r\nA quantum superposed\n\toperator is studied.\r\n",
        "Inspec/keys/114.key": "quantum games\nsuperposed\n\toperator\r\ngame theory\r\n",
        "Inspec/docsutf8/115.txt": "Plain text",
        "Inspec/keys/115.key": "text\r\nplain text\r\n",
    }
    left_out = Counter()
    folded, plain = read_keyphrases([zip_of(files, tmp_path / "i.zip")], left_out=left_out)
    assert folded.text == "Quantum games\nA quantum superposed operator is studied."
    assert folded.keyphrases == ("quantum games", "superposed", "operator", "game theory")
    assert plain.keyphrases == ("text", "plain text")
    assert left_out == {TWO_LISTS: 1}


@pytest.mark.parametrize("packed", [True, False])
def test_inspec_lines_are_unfolded_and_empty_documents_counted(packed, tmp_path):
    path = zip_of(INSPEC, tmp_path / "i.zip") if packed else folder_of(INSPEC, tmp_path / "i")
    left_out = Counter()
    (document,) = read_keyphrases([path], left_out=left_out)
    assert (document.id, document.text) == ("0.7", "A long\nThe abstract of seven.")
    assert document.keyphrases == ("long abstracts", "seven")
    assert left_out == {"document_without_text": 1, "document_without_keyphrases": 1}
    (controlled,) = read_keyphrases([path], "inspec-controlled")
    assert controlled.keyphrases == ("numbers",)


@pytest.mark.parametrize("packed", [True, False])
def test_folders_of_texts_and_keys(packed, tmp_path):
    path = zip_of(FOLDERS, tmp_path / "s.zip") if packed else folder_of(FOLDERS, tmp_path / "s")
    (document,) = read_keyphrases([path])
    assert (document.id, document.keyphrases) == ("0.a", ("alpha beta", "gamma"))
    assert document.path == path / "x/docsutf8/a.txt"


def test_json_lines(tmp_path):
    path = json_lines(
        tmp_path / "d.jsonl",
        {"text": "One two", "keyphrases": ["two"]},
        {"title": "Three", "text": "four", "keyphrases": ["three", "three"]},
    )
    first, second = read_keyphrases([path])
    assert (first.id, first.line, second.text, second.keyphrases) == ("0.1", 1, "Three\nfour", ("three",))


def test_other_encodings_are_read_and_counted(tmp_path):
    files = {"docsutf8/a.txt": "caf\u00e9 na\u00efve".encode("cp1252"), "keys/a.key": "café"}
    left_out = Counter()
    (document,) = read_keyphrases([folder_of(files, tmp_path / "f")], left_out=left_out)
    assert document.text == "café naïve"
    assert left_out == {"file_read_as_windows_1252": 1}


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"docsutf8/a.txt": "\ufeffa".encode("utf-16"), "keys/a.key": "a"}, r"a\.txt: is UTF-16"),
        ({"docsutf8/a.txt": b"a\0b", "keys/a.key": "a"}, "zero bytes"),
        ({"docsutf8/a.txt": "text"}, "has no document with a text and keyphrases"),
        ({"a.txt": "text"}, "is in none of the known formats"),
        ({}, "is in none of the known formats"),
    ],
)
def test_what_is_no_corpus_is_refused(files, problem, tmp_path):
    (tmp_path / "f").mkdir()
    with pytest.raises(CorpusError, match=problem):
        list(read_keyphrases([folder_of(files, tmp_path / "f")]))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": "a", "keyphrases": "b"}', "line 1: has no list of texts 'keyphrases'"),
        ('{"text": "a", "keyphrases": [1]}', "line 1: has no list of texts 'keyphrases'"),
        ('{"keyphrases": ["b"]}', "line 1: has no text 'text'"),
        ('{"text": 5, "keyphrases": ["b"]}', "line 1: has no text 'text'"),
        ("[1]", "line 1: is not a JSON object"),
        ("{", "line 1: is not valid JSON"),
        ('{"text": "a", "keyphrases": []}', "has no document"),
        ("", "has no document"),
    ],
)
def test_malformed_json_lines_name_file_and_line(line, problem, tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=problem):
        list(read_keyphrases([path]))


def test_damaged_zips_and_files_given_twice(tmp_path):
    whole = zip_of(FOLDERS, tmp_path / "s.zip")
    with pytest.raises(CorpusError, match="is given twice"):
        list(read_keyphrases([whole, whole]))
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole.read_bytes()[:60])
    with pytest.raises(CorpusError, match="is a damaged zip"):
        list(read_keyphrases([cut]))
    raw = bytearray(whole.read_bytes())
    raw[raw.index(b"Alpha")] ^= 1
    bad = tmp_path / "bad.zip"
    bad.write_bytes(bytes(raw))
    with pytest.raises(CorpusError, match="cannot be read from the zip"):
        list(read_keyphrases([bad]))


def test_a_layout_that_the_path_cannot_have(tmp_path):
    path = json_lines(tmp_path / "d.jsonl", {"text": "a", "keyphrases": ["a"]})
    with pytest.raises(CorpusError, match="is a file, but inspec needs a folder"):
        list(read_keyphrases([path], "inspec"))
    with pytest.raises(CorpusError, match=r"is not a .jsonl file"):
        list(read_keyphrases([tmp_path], "jsonl"))
