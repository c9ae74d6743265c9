"""Words and phrases of a text, compared as the field compares keyphrases: in lower case and by their Porter stems.

A word is a run of letters and digits, and of marks that join them (``state-of-the-art``, ``3.5``); every other sign is
a word of its own. A phrase never crosses a line break.

A keyphrase of a document occurs wherever the stems of its words occur in the text. Of nested and overlapping phrases
the longest wins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from headatlas.commands.keyphrases.reading import KeyphraseDocument
from headatlas.corpora.text import TextLine

_WORD = re.compile(r"\w+(?:[-\u2010\u2011.'\u2019/]\w+)*|[^\w\s]")
_stemmer = snowballstemmer.stemmer("porter")

Stems = tuple[str, ...]


@dataclass(frozen=True)
class Words:
    """The words of a text and the line of each."""

    words: tuple[str, ...]
    lines: tuple[int, ...]  # the line of each word, from 0

    def __len__(self) -> int:
        return len(self.words)

    def stems(self) -> Stems:
        """The stem of every word."""
        return stems(self.words)


def split_words(text: str) -> Words:
    """The words of a text in order.

    >>> split_words("Multi-agent systems.\\nThey plan").words
    ('Multi-agent', 'systems', '.', 'They', 'plan')
    """
    words: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(text.splitlines()):
        words_of_line = _WORD.findall(line)
        words += words_of_line
        lines += [number] * len(words_of_line)
    return Words(tuple(words), tuple(lines))


@cache
def stem(word: str) -> str:
    """The Porter stem of a word in lower case.

    >>> stem("Equations")
    'equat'
    """
    return str(_stemmer.stemWord(word.lower()))


def stems(words: Sequence[str]) -> Stems:
    """The stem of each word."""
    return tuple(map(stem, words))


def phrase_stems(phrase: str) -> Stems:
    """The stems of a phrase, by which it is compared with others.

    >>> phrase_stems("Neural networks") == phrase_stems("neural network")
    True
    """
    return split_words(phrase).stems()


def is_sign(word: str) -> bool:
    """Whether a word consists of punctuation or other signs alone.

    >>> is_sign("("), is_sign("3.5")
    (True, False)
    """
    return not any(map(str.isalnum, word))


def occurrences(phrase: Stems, text: Stems, lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First word and one past the last of every occurrence of a phrase within a line of a text."""
    size = len(phrase)
    if not size:
        return
    for start in range(len(text) - size + 1):
        if text[start : start + size] == phrase and lines[start] == lines[start + size - 1]:
            yield start, start + size


OUTSIDE, BEGINS, INSIDE = 0, 1, 2
TAGS = ("O", "B", "I")  # by those numbers


def gold_stems(document: KeyphraseDocument) -> frozenset[Stems]:
    """The stems of the keyphrases of a document, each once."""
    return frozenset(map(phrase_stems, document.keyphrases)) - {()}


def tag_words(words: Words, phrases: Iterable[Stems]) -> tuple[NDArray[np.int64], int]:
    """The tag of every word, and how many of the phrases occur in the text."""
    text = words.stems()
    tags = np.full(len(words), OUTSIDE, dtype=np.int64)
    occurring = 0
    for phrase in sorted(phrases, key=lambda phrase: (-len(phrase), phrase)):
        places = list(occurrences(phrase, text, words.lines))
        occurring += bool(places)
        for start, end in places:
            free = np.flatnonzero(tags[start:end] == OUTSIDE) + start
            tags[free] = np.where(free == start, BEGINS, INSIDE)
    return tags, occurring


@dataclass(frozen=True)
class Document:
    """A text in words, and its keyphrases according to people, if known."""

    id: str
    text: str
    words: Words
    gold: frozenset[Stems]


def with_keyphrases(documents: Iterable[KeyphraseDocument]) -> list[Document]:
    """Documents of a corpus, their keyphrases as stems, each once."""
    return [
        Document(document.id, document.text, split_words(document.text), gold_stems(document)) for document in documents
    ]


def of_texts(lines: Iterable[TextLine], left_out: Counter[str]) -> list[Document]:
    """Documents of plain text; those without a word are counted."""
    documents = []
    files: dict[object, int] = {}
    for (path, number), of_document in groupby(lines, key=lambda line: (line.path, line.document)):
        text = "\n".join(line.text for line in of_document)
        words = split_words(text)
        if len(words):
            documents.append(Document(f"{files.setdefault(path, len(files))}.{number}", text, words, frozenset()))
        else:
            left_out["document_without_words"] += 1
    return documents
