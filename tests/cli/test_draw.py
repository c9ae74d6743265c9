"""headatlas draw, as typed."""

from __future__ import annotations

import pytest

from headatlas.errors import HeadatlasError
from typed import typed


def draw(*arguments):
    ended = typed("draw", *arguments)
    if ended.exit_code:
        raise HeadatlasError(" ".join(ended.stderr.split()))
    return ended.stdout


@pytest.fixture
def bert(tiny_folder):
    return tiny_folder("bert")


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_picture_of_each_kind(bert, tmp_path, suffix):
    out = tmp_path / f"v1.2 picture.{suffix}"
    words = ["The dog saw a cat.", "--head", "1-2", "2-4", "--red", "dog", "cat", "--out", out, "--quiet"]
    assert draw(bert, *words) == f"{out}\n"
    assert out.stat().st_size > 1000


def test_a_picture_named_after_its_heads(bert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = draw(bert, "The dog ran.", "It sat.", "--head", "1-2,2-4", "--tokens", "--hide-special")
    assert shown.startswith(f"\nWrote head_1-2_2-4.png.\nNext: headatlas explore {bert} ")
    assert (tmp_path / "head_1-2_2-4.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["A dog.", "--head", "3-1"], "2 layers x 4 heads: 1-1 to 2-4"),
        (["A dog.", "--head", "../x"], "is not a valid head"),
        (["", "--head", "1-1"], "empty"),
        (["dog " * 80, "--head", "1-1"], "at most 64"),
        (["A dog.", "--head", "1-1", "--red", "cat"], "Its words: .*dog"),
        (["A dog.", "--head", "1-1", "--out", "picture.gif"], r"\.svg, \.png, \.pdf"),
        (["A dog.", "--head", "1-1", "--out", "nowhere/picture.png"], "the folder nowhere does not exist"),
    ],
)
def test_mistakes_are_explained_and_leave_nothing(bert, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HeadatlasError, match=message):
        draw(bert, *arguments)
    assert not list(tmp_path.iterdir())
