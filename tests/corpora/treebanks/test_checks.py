from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.corpora.treebanks.checks import (
    FoundTree,
    check_heads,
    check_tree,
    make_sentence,
    parse_head,
    tree_defect,
)
from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.errors import CorpusError

PATH = Path("bank.conllu")


def found(*heads: int) -> FoundTree:
    words = tuple("abcdefgh"[: len(heads)])
    lines = tuple(range(11, 11 + len(heads)))
    return FoundTree(PATH, lines, False, words, heads, ("dep",) * len(heads), ("",) * len(heads))


DEFECTS = [
    ((ROOT, 2, 1), "sentence_with_cycle", 12, "'b' is the head of its own head.*must form a tree"),
    ((ROOT, 0, 2), "sentence_with_cycle", 13, "'c' is its own head.*must form a tree"),
    ((ROOT, 2, 3, 1, ROOT), "sentence_with_cycle", 12, "head of its own head"),
    ((1, 2, 0), "sentence_without_root", 11, "'a' begins a sentence without a root.*Give one word the head 0"),
    ((0,), "sentence_without_root", 11, "without a root"),
    ((ROOT, 0, ROOT, ROOT), "sentence_with_several_roots", 13, "'c' is a second root.*Leave one word"),
    ((ROOT, 2), "sentence_with_head_outside", 12, "'b' has its head in another sentence"),
]


@pytest.mark.parametrize(("heads", "reason", "line", "problem"), DEFECTS)
def test_what_is_no_tree_raises_with_the_line_of_the_word(
    heads: tuple[int, ...], reason: str, line: int, problem: str
) -> None:
    with pytest.raises(CorpusError, match=f"line {line}: .*{problem}") as caught:
        check_tree(found(*heads))
    assert (caught.value.path, caught.value.line) == (PATH, line)


@pytest.mark.parametrize(("heads", "reason", "line", "problem"), DEFECTS)
def test_what_is_no_tree_is_counted_where_someone_counts(
    heads: tuple[int, ...], reason: str, line: int, problem: str
) -> None:
    left_out: Counter[str] = Counter()
    assert make_sentence(found(*heads), "0.0.0", left_out) is None
    assert left_out == {reason: 1}
    with pytest.raises(CorpusError, match=problem):
        make_sentence(found(*heads), "0.0.0", None)


def test_a_tree_becomes_a_sentence() -> None:
    left_out: Counter[str] = Counter()
    sentence = make_sentence(found(1, ROOT, 1), "3.1.4", left_out)
    assert sentence == Sentence("3.1.4", PATH, 11, ("a", "b", "c"), (1, ROOT, 1), ("dep",) * 3, ("",) * 3)
    assert not left_out
    assert sentence.document == "3.1"


@given(st.integers(1, 7).flatmap(lambda n: st.lists(st.integers(ROOT, n), min_size=n, max_size=n)))
def test_a_tree_is_where_every_word_climbs_to_the_one_root(heads: list[int]) -> None:
    def climbs(word: int) -> bool:
        for _ in heads:
            if not 0 <= word < len(heads):
                return False
            if heads[word] == ROOT:
                return True
            word = heads[word]
        return False

    is_tree = heads.count(ROOT) == 1 and all(climbs(word) for word in range(len(heads)))
    assert (tree_defect(heads) is None) == is_tree


def test_a_long_chain_is_checked_at_once() -> None:
    length = 200_000
    assert tree_defect([*range(1, length), ROOT]) is None
    assert tree_defect([ROOT, *range(length - 1)]) is None


@pytest.mark.parametrize("head", [3, 99, -2])
def test_a_head_that_is_no_word_of_the_sentence_raises(head: int) -> None:
    with pytest.raises(CorpusError, match=f"line 8: its head is word {head + 1} of 3.*Correct the head"):
        check_heads([ROOT, 0, head], PATH, [6, 7, 8])


def test_heads_as_files_write_them() -> None:
    assert [parse_head(text, PATH, 1) for text in ("0", "1", "12")] == [ROOT, 0, 11]


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "２", "9" * 5000])  # noqa: RUF001
def test_a_head_that_is_no_number(text: str) -> None:
    with pytest.raises(CorpusError, match=r"line 4: its head .* is no number.*or 0 for the root"):
        parse_head(text, PATH, 4)


def test_no_head_means_no_tree() -> None:
    with pytest.raises(CorpusError, match="has no dependency tree"):
        parse_head("_", PATH, 4)
