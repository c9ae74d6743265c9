"""Words and phrases of a text, compared as the field compares keyphrases: in lower case and by their Porter stems.

A word is a run of letters and digits, and of marks that join them (``state-of-the-art``, ``3.5``); every other sign is
a word of its own. A phrase never crosses a line break.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import snowballstemmer

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
