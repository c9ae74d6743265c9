"""Words in a relation, each beside a word like it that is not: what the causal test compares.

A matched word has the same part of speech or, if the corpus gives none, is about as frequent (the same power of two).
It comes from the same sentence if possible, else from another, and is never used twice. Words without a match are
counted and not used.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headatlas.encoding.word_segments import WordSegment

Word = tuple[int, int]  # segment and word, from 0


@dataclass(frozen=True)
class MatchedWords:
    """Pairs of a word in the relation and a word like it; the number of words without a match."""

    pairs: tuple[tuple[Word, Word], ...]
    unmatched: int


@dataclass(frozen=True)
class RelationWords:
    """A relation, the head found for it (layer and head, from 0), and the words that stand in it."""

    name: str
    layer: int
    head: int
    words: frozenset[Word]


def word_classes(segments: Sequence[WordSegment], tags: Sequence[Sequence[str]]) -> Callable[[Word], str]:
    """What must agree for two words to match: the tag or, without tags, the band of frequency."""
    counts = Counter(text.lower() for segment in segments for text in segment.text)

    def class_of(word: Word) -> str:
        segment, place = word
        return tags[segment][place] or f"band {counts[segments[segment].text[place].lower()].bit_length()}"

    return class_of


def match_words(
    relation: RelationWords, usable: Iterable[Word], class_of: Callable[[Word], str], *, most: int, seed: int
) -> MatchedWords:
    """Up to `most` words of a relation, drawn by the seed, each with a match among the usable words outside it."""
    rng = random.Random(f"{seed} match {relation.name}")
    outside: dict[str, dict[int, list[Word]]] = defaultdict(lambda: defaultdict(list))  # class -> segment -> words
    inside = []
    for word in sorted(usable):
        if word in relation.words:
            inside.append(word)
        else:
            outside[class_of(word)][word[0]].append(word)
    chosen = sorted(rng.sample(inside, min(most, len(inside))))
    pairs: list[tuple[Word, Word]] = []
    for word in chosen:
        alike = outside[class_of(word)]
        if not alike:
            continue
        segment = word[0] if word[0] in alike else rng.choice(sorted(alike))
        match = alike[segment].pop(rng.randrange(len(alike[segment])))
        if not alike[segment]:
            del alike[segment]
        pairs.append((word, match))
    return MatchedWords(tuple(pairs), len(chosen) - len(pairs))
