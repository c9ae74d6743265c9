"""Minimal pairs from JSON lines and from a zip, good and bad."""

from __future__ import annotations

import json
import zipfile

import pytest

from headatlas.corpora.minimal_pairs import read_minimal_pairs
from headatlas.errors import CorpusError, SettingError


def lines(*pairs):
    return "".join(json.dumps({"sentence_good": good, "sentence_bad": bad, "UID": "x"}) + "\n" for good, bad in pairs)


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "sets.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("data/second.jsonl", lines(("a b", "b a"), ("c d", "d c")))
        made.writestr("data/first.jsonl", lines(("e", "f")))
        made.writestr("README.md", "no pairs")
    return path


def test_a_zip_gives_all_its_sets_in_order(archive):
    pairs = read_minimal_pairs([archive])
    assert [(pair.id, pair.good) for pair in pairs] == [("first.0", "e"), ("second.0", "a b"), ("second.1", "c d")]


def test_only_the_sets_named(archive, tmp_path):
    assert [pair.id for pair in read_minimal_pairs([archive], ["second"])] == ["second.0", "second.1"]
    with pytest.raises(SettingError, match=r"third: no such set. Use one of: first, second"):
        read_minimal_pairs([archive], ["third"])
    plain = tmp_path / "first.jsonl"
    plain.write_text(lines(("a", "b")), encoding="utf-8")
    assert [pair.bad for pair in read_minimal_pairs([plain])] == ["b"]
    with pytest.raises(CorpusError, match="contains the set first a second time"):
        read_minimal_pairs([archive, plain])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"sentence_good": "a"}\n', "line 1: has no text 'sentence_bad'"),
        (lines(("a", "b"), ("a", "a")), "line 2: needs two different sentences"),
        (lines(("a", " ")), "line 1: needs two different sentences"),
        ("nonsense\n", "line 1: is not valid JSON"),
        (b"\xff\n", "is not UTF-8"),
    ],
)
def test_malformed_members_are_named(tmp_path, content, problem):
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("data/one.jsonl", content)
    with pytest.raises(CorpusError, match=r"one\.jsonl") as caught:
        read_minimal_pairs([path])
    assert problem in str(caught.value)


def test_a_zip_without_sets_is_refused(tmp_path):
    path = tmp_path / "empty.zip"
    zipfile.ZipFile(path, "w").close()
    with pytest.raises(CorpusError, match=r"no \.jsonl file"):
        read_minimal_pairs([path])


def test_a_damaged_zip_is_refused(archive):
    content = bytearray(archive.read_bytes())
    place = content.index(b"sentence_good")
    content[place] ^= 0xFF
    archive.write_bytes(bytes(content))
    with pytest.raises(CorpusError, match="cannot be read from the zip"):
        read_minimal_pairs([archive])
