"""Which stretches of a text may be keyphrases, and how they are scored by attention.

Without a tagger: the longest runs of words between stop words, signs and line breaks, of at most five words. Stop words
are scikit-learn's and the words with which reports are written (`report_words.txt`); adverbs in -ly and numbers alone
end a run too.
With a spaCy pipeline: the longest runs of adjectives and nouns that end in a noun, as most of the field has it.

A word's weight is the mean over the chosen heads of what it receives. A candidate's score is the sum over its words, at
the place where that is largest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from headatlas.commands.keyphrases.phrases import Stems, Words
from headatlas.commands.keyphrases.word_weights import WordWeights
from headatlas.errors import SettingError

MOST_WORDS = 5
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Candidate:
    """A phrase of a document and every place where it occurs."""

    stems: Stems
    text: str  # as in its first place
    places: tuple[tuple[int, int], ...]  # first word and one past the last


Spans = Callable[[Words], Iterator[tuple[int, int]]]


def find_candidates(words: Words, spans: Spans) -> list[Candidate]:
    """The candidates of a document in the order of their first places, one for each sequence of stems."""
    text = words.stems()
    places: dict[Stems, list[tuple[int, int]]] = {}
    for start, end in spans(words):
        places.setdefault(text[start:end], []).append((start, end))
    return [
        Candidate(stems, " ".join(words.words[slice(*of_phrase[0])]), tuple(of_phrase))
        for stems, of_phrase in places.items()
    ]


def between_stop_words(words: Words) -> Iterator[tuple[int, int]]:
    """The runs of words between stop words."""
    yield from _runs([not is_stop_word(word) for word in words.words], words.lines)


def is_stop_word(word: str) -> bool:
    """Whether a word, sign or number cannot be part of a keyphrase.

    >>> [word for word in "We propose neural networks ( 1999 ) .".split() if not is_stop_word(word)]
    ['neural', 'networks']
    """
    plain = word.lower()
    return (
        not any(letter.isalpha() for letter in plain)
        or len(plain) < 2
        or plain in _stop_words()
        or (plain.endswith("ly") and len(plain) > 4)
    )


@cache
def with_tagger(pipeline: str) -> Spans:
    """The runs of adjectives and nouns that a spaCy pipeline finds."""
    from headatlas.corpora.treebanks.spacy_docs import load_pipeline

    nlp = load_pipeline(pipeline)
    from spacy.tokens import Doc

    def spans(words: Words) -> Iterator[tuple[int, int]]:
        doc = nlp(Doc(nlp.vocab, words=list(words.words)))
        tags = [token.pos_ for token in doc]
        if words.words and not any(tags):
            raise SettingError(f"The spaCy pipeline {pipeline} gives no parts of speech. Choose one with a tagger.")
        for start, end in _runs([tag in ("ADJ", "NOUN", "PROPN") for tag in tags], words.lines):
            while end > start and tags[end - 1] == "ADJ":
                end -= 1
            if end > start:
                yield start, end

    return spans


@dataclass(frozen=True)
class Scored:
    """A candidate and its score."""

    candidate: Candidate
    score: float


def combined(weights: WordWeights, heads: Sequence[int]) -> Floats:
    """What each word receives from the chosen heads on average: [words]. weights: [words, heads]."""
    mean: Floats = weights[:, list(heads)].astype(np.float64).mean(1)
    return mean


def score_candidates(candidates: Sequence[Candidate], weights: Floats) -> list[Scored]:
    """The candidates with their scores, the best first; equal scores in the order of the text."""
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    scores = (max(sums[end] - sums[start] for start, end in candidate.places) for candidate in candidates)
    scored = [Scored(candidate, float(score)) for candidate, score in zip(candidates, scores, strict=True)]
    return sorted(scored, key=lambda phrase: (-phrase.score, phrase.candidate.places[0]))


def _runs(inside: Sequence[bool], lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of words of a line that are inside, none longer than MOST_WORDS: of longer ones the last words."""
    start = None
    for place in range(len(inside) + 1):
        going = place < len(inside) and inside[place]
        if start is not None and (not going or lines[place] != lines[start]):
            yield max(start, place - MOST_WORDS), place
            start = None
        if going and start is None:
            start = place


@cache
def _stop_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    report_words = (files("headatlas.commands.keyphrases") / "report_words.txt").read_text(encoding="utf-8")
    return frozenset(ENGLISH_STOP_WORDS).union(report_words.split())
