"""Word vectors: every format gives the same numbers, and what is malformed is refused with its place."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.errors import CorpusError, SettingError
from headatlas.probes import vectors as module
from headatlas.probes.vectors import GLOVE, glove_is_installed, load_vectors, read_vector_file

TABLE = {"the": [0.5, -1.25, 2.0], "dog": [1e-3, 4.0, -0.0], "café": [1.0, 1.5, 0.25], "at x@y.z": [3.0, 2.0, 1.0]}


def glove_text(table=TABLE):
    return "".join(f"{word} {' '.join(map(str, numbers))}\n" for word, numbers in table.items()).encode()


def word2vec_text(table=TABLE):
    return f"{len(table)} 3\n".encode() + glove_text(table)


def word2vec_binary(table=TABLE, end=b"\n"):
    body = b"".join(
        word.replace(" ", "_").encode() + b" " + np.array(numbers, "<f4").tobytes() + end
        for word, numbers in table.items()
    )
    return f"{len(table)} 3\n".encode() + body


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(
    "content", [glove_text(), word2vec_text(), word2vec_binary(), word2vec_binary(end=b"")], ids=str
)
def test_every_format_gives_the_same_vectors(content, zipped, tmp_path):
    path = tmp_path / "vectors.any"
    path.write_bytes(gzip.compress(content) if zipped else content)
    found = dict(read_vector_file(path, {"the", "café", "dog", "missing"}))
    assert list(found) == ["the", "dog", "café"]
    for word, numbers in found.items():
        assert numbers.dtype == np.float32
        np.testing.assert_array_equal(numbers, np.float32(TABLE[word]))


@given(st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=2), min_size=1, max_size=9))
def test_binary_numbers_with_any_bytes_survive(rows):
    """Bytes of a number may look like a space or a line break."""
    import tempfile
    from pathlib import Path

    body = b"".join(f"w{n}".encode() + b" " + np.array(row, "<f4").tobytes() for n, row in enumerate(rows))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.bin"
        path.write_bytes(f"{len(rows)} 2\n".encode() + body)
        found = dict(read_vector_file(path, {f"w{n}" for n in range(len(rows))}))
    np.testing.assert_array_equal(np.stack(list(found.values())), np.array(rows, np.float32))


@pytest.mark.parametrize(
    ("content", "line", "why"),
    [
        (b"the 1 2 3\ndog 1 2\n", 2, "mixed width"),
        (b"the 1 2 3\ndog 1 2 3 4\n", 2, "mixed width"),
        (b"2 3\nthe 1 2 3\ndog 1 2\n", 3, "mixed width"),
        (b"the 1 2 x\n", 1, "not a number"),
        (b"the 1 2 nan\n", 1, "not finite"),
        (b"the\n", 1, "not a word with 1 to"),
        (b"the 1 2 3\n\xff 1 2 3\n", 2, "UTF-8"),
        (b"3 3\nthe 1 2 3\n", None, "1 vectors, not 3"),
        (b"", None, "0 vectors"),
        (b"1 99999999\nthe 1\n", 1, "99999999 numbers"),
        (word2vec_binary()[:-9], 5, "before the last vector"),
        (b"2 3\n" + word2vec_binary({"the": [np.inf, 1, 2], "dog": [0, 0, 0]})[4:], 2, "not finite"),
        (gzip.compress(glove_text(), mtime=0)[:-12], None, "gzip|cut short|cannot be read"),
    ],
)
def test_what_is_malformed_is_named(content, line, why, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=why) as caught:
        load_vectors(path, ["the", "dog"])
    assert str(path) in str(caught.value)
    if line is not None:
        assert caught.value.line == line


def test_case_unknown_words_and_doubles(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(glove_text() + b"the 9 9 9\n")
    found = load_vectors(path, ["The", "dog", "Dog", "zebra"])
    assert found.about["given_twice"] == 1
    assert found.about["found"] == 2
    rows = found.rows(["The", "the", "Dog", "zebra"])
    np.testing.assert_array_equal(found.table[rows[:2]], np.float32([TABLE["the"]] * 2))
    np.testing.assert_allclose(found.table[rows[3]], np.mean([TABLE["the"], TABLE["dog"]], 0), rtol=1e-6)
    assert found.unknown([["zebra", "dog"], ["zebra", "yak"]]) == {"words": 3, "different": 2}


def test_vectors_of_another_language_are_refused(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(glove_text())
    with pytest.raises(CorpusError, match="none of the treebanks' words"):
        load_vectors(path, ["слово"])
    with pytest.raises(CorpusError, match="no such file"):
        load_vectors(tmp_path / "none.txt", ["the"])


def test_a_missing_package_is_named_with_its_command(monkeypatch):
    monkeypatch.setattr(module, "_PACKAGE", "no-such-package-of-vectors")
    assert not glove_is_installed()
    with pytest.raises(SettingError, match=r'pip install "headatlas\[vectors\]"'):
        load_vectors(GLOVE, ["the"])


@pytest.mark.skipif(not glove_is_installed(), reason="the extra `vectors` is not installed")
def test_glove_knows_english_and_is_checked(monkeypatch):
    found = load_vectors(GLOVE, ["King", "queen", "cabbage"])
    king, queen, cabbage = found.table[found.rows(["King", "queen", "cabbage"])]
    cosine = lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b)  # noqa: E731
    assert cosine(king, queen) > cosine(king, cabbage) + 0.3
    monkeypatch.setattr(module, "sha256", lambda path: "altered")
    with pytest.raises(SettingError, match="not the published file"):
        load_vectors(GLOVE, ["the"])
