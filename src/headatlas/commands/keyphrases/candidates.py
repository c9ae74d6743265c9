"""Which stretches of a text may be keyphrases, and how weights of words rank them.

Without a tagger: the longest runs of words between stop words, signs and line breaks, of at most five words. Stop words
are scikit-learn's and, unless they are kept, the words with which abstracts and reports are written
(`report_words.txt`); adverbs in -ly and numbers alone end a run too.
With a spaCy pipeline: the longest runs of adjectives and nouns that end in a noun, as most of the field has it.

A candidate's score is the sum, or the mean, of the weights of its words, at the place where that is largest. The sum
prefers long phrases: with equal weights it ranks by length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headatlas.commands.keyphrases.phrases import Stems, Words
from headatlas.errors import SettingError

MOST_WORDS = 5
Floats = NDArray[np.float64]
Scoring = Literal["sum", "mean"]
ReportWords = Literal["exclude", "keep"]


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


def candidate_lengths(words: Words, candidates: Sequence[Candidate]) -> NDArray[np.int64]:
    """Of each word, how many words the candidate has that it stands in; 0 if it stands in none."""
    lengths = np.zeros(len(words), dtype=np.int64)
    for candidate in candidates:
        for start, end in candidate.places:
            lengths[start:end] = end - start
    return lengths


def between_stop_words(words: Words, report_words: ReportWords = "exclude") -> Iterator[tuple[int, int]]:
    """The runs of words between stop words."""
    yield from _runs([not is_stop_word(word, report_words) for word in words.words], words.lines)


def is_stop_word(word: str, report_words: ReportWords = "exclude") -> bool:
    """Whether a word, sign or number cannot be part of a keyphrase.

    >>> [word for word in "We propose neural networks ( 1999 ) .".split() if not is_stop_word(word)]
    ['neural', 'networks']
    """
    plain = word.lower()
    return (
        not any(letter.isalpha() for letter in plain)
        or len(plain) < 2
        or plain in _stop_words()
        or (report_words == "exclude" and plain in words_of_reports())
        or (plain.endswith("ly") and len(plain) > 4)
    )


def spans_by(pipeline: str | None) -> dict[ReportWords, Spans]:
    """How candidates are made, by what becomes of report words. A tagger does not know them and keeps them."""
    if pipeline:
        return {"keep": with_tagger(pipeline)}
    return {"exclude": between_stop_words, "keep": partial(between_stop_words, report_words="keep")}


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


def score_candidates(candidates: Sequence[Candidate], weights: Floats, scoring: Scoring = "sum") -> list[Scored]:
    """The candidates with their scores, the best first; equal scores in the order of the text. weights: [words]."""
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    scored = []
    for candidate in candidates:
        score = max(
            (sums[end] - sums[start]) / (end - start if scoring == "mean" else 1) for start, end in candidate.places
        )
        scored.append(Scored(candidate, float(score.round(12))))  # equal sums tie, whatever the last digits say
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

    return frozenset(ENGLISH_STOP_WORDS)


@cache
def words_of_reports() -> frozenset[str]:
    """The words of `report_words.txt`."""
    return frozenset((files(__package__) / "report_words.txt").read_text(encoding="utf-8").split())
