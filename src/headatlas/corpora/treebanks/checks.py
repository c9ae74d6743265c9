"""What makes a dependency tree: every head is a word of its sentence, one word is the root, and no path is a cycle.

Two sorts of fault are kept apart. A malformed line (a head that is no number, or no word of the sentence) means that
the file was misread or damaged: it always raises. Well-formed heads that are no tree, most often a second root, occur
in published treebanks: such a sentence raises too, unless the caller counts what is left out. It is never scored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.errors import CorpusError


@dataclass(frozen=True)
class FoundTree:
    """A sentence as a reader finds it: without an id, and with heads that may form no tree."""

    path: Path
    lines: tuple[int, ...]  # line of each word, from 1
    starts_document: bool  # whether the file marks it as the first of a document
    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class TreeDefect:
    """Why heads form no tree, and the word to look at."""

    reason: str  # as it is counted
    word: int  # from 0
    message: str


def parse_head(text: str, path: Path, line: int) -> int:
    """A head as files write it, from 1 with 0 for the root, as an index from 0 or ROOT."""
    if text == "_":
        raise CorpusError("has no dependency tree: the head is _. Give a file with heads, a parsed one.", path, line)
    if not re.fullmatch("[0-9]{1,9}", text):
        raise CorpusError(f"its head {text[:20]!r} is no number. Give a word's number, or 0 for the root.", path, line)
    return int(text) - 1 if int(text) else ROOT


def check_heads(heads: Sequence[int], path: Path, lines: Sequence[int]) -> None:
    """Raise where a head is no word of the sentence."""
    for head, line in zip(heads, lines, strict=True):
        if head != ROOT and not 0 <= head < len(heads):
            problem = f"its head is word {head + 1} of {len(heads)}. Correct the head: a word of its sentence, or 0."
            raise CorpusError(problem, path, line)


def tree_defect(heads: Sequence[int]) -> TreeDefect | None:
    """The first reason why heads are no tree: a head outside the sentence, no root, a cycle, or several roots."""
    outside = [word for word, head in enumerate(heads) if head != ROOT and not 0 <= head < len(heads)]
    if outside:
        problem = "has its head in another sentence. Correct the heads, or where sentences end."
        return TreeDefect("sentence_with_head_outside", outside[0], problem)
    roots = [word for word, head in enumerate(heads) if head == ROOT]
    if not roots:
        return TreeDefect("sentence_without_root", 0, "begins a sentence without a root. Give one word the head 0.")
    cycle = _word_on_a_cycle(heads)
    if cycle is not None:
        what = "its own head" if heads[cycle] == cycle else "the head of its own head, near or far"
        return TreeDefect("sentence_with_cycle", cycle, f"is {what}. Correct the heads: they must form a tree.")
    if len(roots) > 1:
        problem = "is a second root of its sentence. Leave one word with the head 0, or split the sentence."
        return TreeDefect("sentence_with_several_roots", roots[1], problem)
    return None


def check_tree(tree: FoundTree) -> None:
    """Raise where the heads form no tree, naming the line of the word at fault."""
    defect = tree_defect(tree.heads)
    if defect:
        word = tree.words[defect.word]
        raise CorpusError(f"the word {word!r} {defect.message}", tree.path, tree.lines[defect.word])


def make_sentence(tree: FoundTree, sentence_id: str, left_out: Counter[str] | None) -> Sentence | None:
    """The sentence under its id; None where it is no tree and is counted in `left_out`, without which it raises."""
    if left_out is None:
        check_tree(tree)
    elif defect := tree_defect(tree.heads):
        left_out[defect.reason] += 1
        return None
    return Sentence(sentence_id, tree.path, tree.lines[0], tree.words, tree.heads, tree.relations, tree.tags)


def _word_on_a_cycle(heads: Sequence[int]) -> int | None:
    leads_to_root = {ROOT}
    for start in range(len(heads)):
        path: set[int] = set()
        word = start
        while word not in leads_to_root:
            if word in path:
                return word
            path.add(word)
            word = heads[word]
        leads_to_root |= path
    return None
