from __future__ import annotations

from pathlib import Path

import pytest

from headatlas.corpora.treebanks.columns import read_head_label
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.errors import CorpusError


def file_with(folder: Path, content: str) -> Path:
    path = folder / "dev.txt"
    path.write_text(content, encoding="utf-8")
    return path


def test_words_and_labels_with_hyphens_and_colons(tmp_path: Path) -> None:
    content = "well-known 2-amod\nmen 3-nsubj:pass\r\ndash 0-root\n-- 3-punct-left\n# 3-dep\n3-x\t3-num\n"
    (tree,) = read_head_label(file_with(tmp_path, content))
    assert tree.words == ("well-known", "men", "dash", "--", "#", "3-x")
    assert tree.heads == (1, 2, ROOT, 2, 2, 2)
    assert tree.relations == ("amod", "nsubj:pass", "root", "punct-left", "dep", "num")
    assert tree.tags == ("",) * 6
    assert tree.word_lines == (1, 2, 3, 4, 5, 6)
    assert not tree.starts_document


def test_sentences_and_documents(tmp_path: Path) -> None:
    path = file_with(tmp_path, "\na 0-root\n\n\n# newdoc\nb 0-root\n\n# newdoc id = x\n\nc 0-root")
    assert [(tree.words, tree.word_lines, tree.starts_document) for tree in read_head_label(path)] == [
        (("a",), (2,), False),
        (("b",), (6,), True),
        (("c",), (10,), True),
    ]


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("a 0-root\nb\n", 2, "reads 'b'. Give a word, a space, and its head and label: dogs 2-nsubj"),
        ("a b 0-root\n", 1, "reads 'a b 0-root'"),
        ("a root-0\n", 1, "Give a word"),
        ("a 0-\n", 1, "Give a word"),
        ("a 0\n", 1, "Give a word"),
        ("a -1-root\n", 1, "Give a word"),
        ("# sent_id = 3\na 0-root\n", 1, "Give a word"),
        ("a 0-root\nb 3-dep\n", 2, "the head is word 3, but the sentence has only 2"),
        (f"a {'9' * 5000}-root\n", 1, "is not a number"),
    ],
)
def test_what_is_malformed_is_named_with_file_and_line(tmp_path: Path, content: str, line: int, problem: str) -> None:
    path = file_with(tmp_path, content)
    with pytest.raises(CorpusError, match=problem) as caught:
        list(read_head_label(path))
    assert (caught.value.path, caught.value.line) == (path, line)
