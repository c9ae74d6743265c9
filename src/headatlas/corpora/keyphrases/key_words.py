"""Which words of a document belong to a keyphrase: as tags, and as targets of a span task.

A keyphrase occurs wherever the stems of its words occur in the text. Of nested and overlapping phrases the longest
wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from headatlas.corpora.keyphrases.phrases import Stems, Words, is_sign, occurrences, phrase_stems, split_words
from headatlas.corpora.keyphrases.read import KeyphraseDocument
from headatlas.corpora.spans.spans import SpanText, Target

OUTSIDE, BEGINS, INSIDE = 0, 1, 2
TAGS = ("O", "B", "I")  # by those numbers
KEY, OTHER = "key", "other"


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


def key_word_texts(documents: Iterable[KeyphraseDocument], task: str) -> Iterator[SpanText]:
    """The words of each document, signs aside, with the label whether they belong to a keyphrase."""
    for document in documents:
        words = split_words(document.text)
        tags, _ = tag_words(words, gold_stems(document))
        targets = tuple(
            Target(((place, place + 1),), (OTHER if tag == OUTSIDE else KEY,), document.line)
            for place, (word, tag) in enumerate(zip(words.words, tags.tolist(), strict=True))
            if not is_sign(word)
        )
        yield SpanText(f"{document.id}.0", document.path, words.words, {task: targets})
