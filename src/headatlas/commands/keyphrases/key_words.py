"""The documents to find keyphrases in, and which of their words belong to a keyphrase, as tags.

A keyphrase occurs wherever the stems of its words occur in the text. Of nested and overlapping phrases the longest
wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from headatlas.commands.keyphrases.phrases import Stems, Words, occurrences, phrase_stems, split_words
from headatlas.commands.keyphrases.reading import KeyphraseDocument
from headatlas.corpora.text import TextLine

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
