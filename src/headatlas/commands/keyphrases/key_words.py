"""Which words of a document belong to a keyphrase, as tags.

A keyphrase occurs wherever the stems of its words occur in the text. Of nested and overlapping phrases the longest
wins.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from headatlas.commands.keyphrases.phrases import Stems, Words, occurrences, phrase_stems
from headatlas.commands.keyphrases.reading import KeyphraseDocument

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
