"""Sentences with a dependency tree, and what makes a tree: heads within the sentence, one root, no cycle.

Readers keep two kinds of fault apart. A malformed line (a head that is not a number, or not a word of the sentence)
means that the file was misread or damaged: it always raises. Well-formed heads that do not form a tree, most often
because of a second root, occur in published treebanks: such a sentence is never scored. It raises as well, unless the
caller counts what is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headatlas.errors import CorpusError

ROOT = -1  # in `heads`: the word is the root of its sentence
NO_TREE = -2  # in `heads`: the file gives the sentence no tree


@dataclass(frozen=True)
class Sentence:
    """Words, each with its head and the relation to it."""

    id: str  # "file.document.sentence", each from 0 in reading order; "" until the sentence is numbered
    path: Path
    line: int  # of the first word, from 1
    words: tuple[str, ...]
    heads: tuple[int, ...]  # index of each word's head, from 0, or ROOT; NO_TREE for all words or none
    relations: tuple[str, ...]
    tags: tuple[str, ...]  # part of speech of each word as the file gives it, "" if it gives none
    starts_document: bool = False  # whether the file marks it as the first of a document
    word_lines: tuple[int, ...] = ()  # of each word, from 1, in files with one word per line
    classes: tuple[str, ...] = ()  # coarse part of speech of each word, "" where unknown; empty if the file has none
    multiword: tuple[tuple[str, str], ...] = ()  # tokens written as one, and their words: ("zum", "zu dem")

    @property
    def document(self) -> str:
        """The id of its document: "file.document"."""
        return self.id.rpartition(".")[0]


@dataclass(frozen=True)
class TreeDefect:
    """Why heads do not form a tree, and the word to look at."""

    reason: str  # the name it is counted under
    word: int  # from 0
    message: str


def tree_defect(heads: Sequence[int]) -> TreeDefect | None:
    """The first reason why heads do not form a tree: a head outside the sentence, no root, a cycle, several roots."""
    outside = [word for word, head in enumerate(heads) if head != ROOT and not 0 <= head < len(heads)]
    if outside:
        problem = "has its head in another sentence. Correct the heads, or where sentences end."
        return TreeDefect("sentence_with_head_outside", outside[0], problem)
    roots = [word for word, head in enumerate(heads) if head == ROOT]
    if not roots:
        return TreeDefect("sentence_without_root", 0, "begins a sentence without a root. Give one word the head 0.")
    cycle = _word_on_a_cycle(heads)
    if cycle is not None:
        what = "is its own head" if heads[cycle] == cycle else "is on a cycle of heads"
        return TreeDefect("sentence_with_cycle", cycle, f"{what}. Correct the heads: they must form a tree.")
    if len(roots) > 1:
        problem = "is a second root of its sentence. Leave one word with the head 0, or split the sentence."
        return TreeDefect("sentence_with_several_roots", roots[1], problem)
    return None


def is_tree(sentence: Sentence, left_out: Counter[str] | None) -> bool:
    """Whether the heads form a tree. If not, count the reason in `left_out`, or raise where it is None."""
    defect = tree_defect(sentence.heads)
    if defect is None:
        return True
    if left_out is None:
        line = sentence.word_lines[defect.word] if sentence.word_lines else sentence.line
        raise CorpusError(f"the word {sentence.words[defect.word]!r} {defect.message}", sentence.path, line)
    left_out[defect.reason] += 1
    return False


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


NOUN = "NOUN"
UNIVERSAL_TAGS = {
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "CONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
    "SCONJ", "SYM", "VERB", "X",
}  # fmt: skip
_PENN = {
    "ADJ": "JJ JJR JJS AFX",
    "ADP": "IN TO RP",  # the infinitive's `to` has the tag of the preposition
    "ADV": "RB RBR RBS WRB",
    "AUX": "MD",
    "CCONJ": "CC",
    "DET": "DT PDT WDT",
    "INTJ": "UH",
    NOUN: "NN NNS NNP NNPS",
    "NUM": "CD",
    "PART": "POS",
    "PRON": "PRP PRP$ WP WP$ EX",
    "PUNCT": ". , : `` '' -LRB- -RRB- -LSB- -RSB- HYPH NFP LS",
    "SYM": "SYM $ #",
    "VERB": "VB VBD VBG VBN VBP VBZ",
    "X": "FW ADD GW XX",
}
_OF_PENN = {tag: word_class for word_class, tags in _PENN.items() for tag in tags.split()}


def word_class(coarse: str, fine: str) -> str:
    """The coarse part of speech of a word, for rules that know tags: the universal ones, proper nouns with the nouns.

    Universal tags are taken as they are, Penn tags are translated. Of any other tag set the coarser column of the file
    is used as it stands. Either of the two tags is "_" or empty if the file gives none.

    >>> word_class("PROPN", "NNP"), word_class("VVD", "VBD"), word_class("N", "Nfs"), word_class("_", "_")
    ('NOUN', 'VERB', 'N', '')
    """
    if coarse in UNIVERSAL_TAGS:
        return NOUN if coarse == "PROPN" else coarse
    if fine in _OF_PENN or coarse in _OF_PENN:
        return _OF_PENN.get(fine) or _OF_PENN[coarse]
    return next((tag for tag in (coarse, fine) if tag not in ("_", "")), "")
