from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.corpora.treebanks.columns import read_head_column
from headatlas.corpora.treebanks.sentence import NO_TREE, ROOT, Sentence, is_tree, tree_defect
from headatlas.errors import CorpusError

PATH = Path("bank.conllu")


def sentence(*heads: int, one_line: bool = False) -> Sentence:
    words = tuple("abcdefgh"[: len(heads)])
    lines = () if one_line else tuple(range(11, 11 + len(heads)))
    return Sentence("3.1.4", PATH, 11, words, heads, ("dep",) * len(heads), ("",) * len(heads), word_lines=lines)


DEFECTS = [
    ((ROOT, 2, 1), "sentence_with_cycle", 12, "'b' is on a cycle of heads.*must form a tree"),
    ((ROOT, 0, 2), "sentence_with_cycle", 13, "'c' is its own head.*must form a tree"),
    ((ROOT, 2, 3, 1, ROOT), "sentence_with_cycle", 12, "on a cycle"),
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
        is_tree(sentence(*heads), None)
    assert (caught.value.path, caught.value.line) == (PATH, line)
    with pytest.raises(CorpusError, match=f"line 11: .*{problem}"):
        is_tree(sentence(*heads, one_line=True), None)


@pytest.mark.parametrize(("heads", "reason", "line", "problem"), DEFECTS)
def test_what_is_no_tree_is_counted_where_someone_counts(
    heads: tuple[int, ...], reason: str, line: int, problem: str
) -> None:
    left_out: Counter[str] = Counter()
    assert not is_tree(sentence(*heads), left_out)
    assert left_out == {reason: 1}


def test_a_tree_is_not_counted() -> None:
    left_out: Counter[str] = Counter()
    assert is_tree(sentence(1, ROOT, 1), left_out)
    assert is_tree(sentence(1, ROOT, 1), None)
    assert not left_out
    assert sentence(ROOT).document == "3.1"


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


@pytest.mark.parametrize("head", [4, 99])
def test_a_head_that_is_no_word_of_the_sentence_raises(head: int) -> None:
    with pytest.raises(CorpusError, match=f"line 8: the head is word {head}, but the sentence has only 3. Correct it"):
        read_head_column(["0", "1", str(head)], [6, 7, 8], PATH)


def test_heads_as_files_write_them() -> None:
    assert read_head_column(["0", "1", "12", *["1"] * 9], range(1, 13), PATH) == (ROOT, 0, 11, *[0] * 9)


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "２", "9" * 5000])  # noqa: RUF001
def test_a_head_that_is_no_number(text: str) -> None:
    with pytest.raises(CorpusError, match=r"line 4: the head .* is not a number.*or 0 for the root"):
        read_head_column([text], [4], PATH)


def test_no_head_means_no_tree() -> None:
    assert read_head_column(["_", "_"], [4, 5], PATH) == (NO_TREE, NO_TREE)
    with pytest.raises(CorpusError, match="line 5: has no head, while other words"):
        read_head_column(["0", "_"], [4, 5], PATH)
