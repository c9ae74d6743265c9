"""The methods that are compared: ways to weigh words by which candidates are ranked.

- `heads`: the attention that a word receives from the chosen heads, mean over them;
- `all_heads`, `random_heads`: from all heads, and from sets of as many heads as were chosen, drawn at random;
- `uniform`: from a head that attends evenly, which counts the tokens of a word;
- `length`: 1, so that candidates are ranked by their number of words; no model is needed for that;
- `position`: 0, so that they stay in the order of the text;
- `tf_idf`: document frequencies are those of the documents at hand (stems, smoothed, as scikit-learn counts);
- `text_rank` (Mihalcea and Tarau 2004): PageRank over the neighbourhood of the candidates' words in the text;
- `yake` (Campos et al. 2020), which has candidates of its own and is ranked apart. Where report words are excluded,
  they are among its stop words too.

Whether a candidate's score is the sum or the mean over its words is decided for each method on training documents.
Equal scores go by the place in the text.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.commands.keyphrases.candidates import (
    Candidate,
    Floats,
    ReportWords,
    Scoring,
    score_candidates,
    words_of_reports,
)
from headatlas.commands.keyphrases.phrases import Document, Stems, phrase_stems
from headatlas.commands.keyphrases.word_weights import WordWeights
from headatlas.progress import moved

RANDOM_SETS = 20
DAMPING = 0.85
NEIGHBOURS = 2  # words within this distance among candidates' words are linked
NO_ATTENTION = ("length", "uniform", "tf_idf", "text_rank", "position", "yake")
OTHER_HEADS = ("all_heads", "random_heads")
DECIDED = ("heads", *OTHER_HEADS, "uniform", "tf_idf", "text_rank")  # by sum or mean; the others have one way only

Ranked = list[Stems]  # the candidates of a document, the best first
Rankings = list[list[Ranked]]  # of each variant of a method, of each document


@dataclass(frozen=True)
class Texts:
    """Documents with their candidates and what their words receive, from heads and under uniform attention."""

    documents: Sequence[Document]
    candidates: Sequence[Sequence[Candidate]]
    received: Sequence[WordWeights]  # each [words, heads]
    uniform: Sequence[Floats]  # each [words]


def combined(weights: WordWeights, heads: Sequence[int]) -> Floats:
    """What each word receives from the chosen heads on average: [words]. weights: [words, heads]."""
    mean: Floats = weights[:, list(heads)].astype(np.float64).mean(1)
    return mean


def random_sets(heads: int, size: int, seed: int) -> list[list[int]]:
    """RANDOM_SETS sets of different heads, by number from 0."""
    return [random.Random(f"{seed} heads {number}").sample(range(heads), size) for number in range(RANDOM_SETS)]


def word_weightings(texts: Texts, heads: Sequence[int], seed: int) -> dict[str, list[list[Floats]]]:
    """Of every method but YAKE and every variant of it, the weights of the words of each document."""
    total = texts.received[0].shape[1]

    def from_heads(chosen: Sequence[int]) -> list[Floats]:
        return [combined(received, chosen) for received in texts.received]

    return {
        "heads": [from_heads(heads)],
        "all_heads": [from_heads(range(total))],
        "random_heads": [from_heads(chosen) for chosen in random_sets(total, len(heads), seed)],
        "uniform": [list(texts.uniform)],
        "length": [[np.ones(len(document.words)) for document in texts.documents]],
        "tf_idf": [tf_idf_weights(texts.documents)],
        "text_rank": [list(map(text_rank_weights, texts.documents, texts.candidates))],
        "position": [[np.zeros(len(document.words)) for document in texts.documents]],
    }


def rank_candidates(texts: Texts, weights: Sequence[Floats], scoring: Scoring) -> list[Ranked]:
    """The candidates of each document by the weights of its words."""
    moved()
    return [
        [phrase.candidate.stems for phrase in score_candidates(candidates, of_words, scoring)]
        for candidates, of_words in zip(texts.candidates, weights, strict=True)
    ]


def rank_all(
    texts: Texts, heads: Sequence[int], scoring: Mapping[str, Scoring], report_words: ReportWords, seed: int
) -> tuple[dict[str, Rankings], dict[str, str]]:
    """Rank the candidates of every document by every method; return the methods that cannot run, and why, too."""
    rankings = {
        method: [rank_candidates(texts, weights, scoring.get(method, "sum")) for weights in variants]
        for method, variants in word_weightings(texts, heads, seed).items()
    }
    yake = yake_rankings(texts.documents, report_words)
    if yake is None:
        return rankings, {"yake": "the package yake is not installed (pip install yake)."}
    return rankings | {"yake": [yake]}, {}


def tf_idf_weights(documents: Sequence[Document]) -> list[Floats]:
    """TF-IDF of each word, with the document frequencies of these documents."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def stems_of(document: Document) -> Stems:
        return document.words.stems()

    vectorizer = TfidfVectorizer(analyzer=stems_of, norm=None)
    rows = vectorizer.fit_transform(documents)
    places = vectorizer.vocabulary_
    return [
        row.toarray()[0][[places[stem] for stem in stems_of(document)]]
        for row, document in zip(rows, documents, strict=True)
    ]


def text_rank_weights(document: Document, candidates: Sequence[Candidate]) -> Floats:
    """The PageRank of each word that stands in a candidate; 0 for the others."""
    text = document.words.stems()
    inside = sorted(
        {place for candidate in candidates for start, end in candidate.places for place in range(start, end)}
    )
    names = sorted({text[place] for place in inside})
    number = {name: place for place, name in enumerate(names)}
    links = np.zeros((len(names), len(names)))
    for order, place in enumerate(inside):
        for other in inside[order + 1 : order + NEIGHBOURS]:
            if other - place < NEIGHBOURS and text[place] != text[other]:
                links[number[text[place]], number[text[other]]] += 1
    rank = dict(zip(names, page_rank(links + links.T), strict=True))
    return np.array([rank.get(stem, 0.0) for stem in text])


def page_rank(links: NDArray[np.float64]) -> Floats:
    """The stationary shares of a walk along the links that restarts anywhere now and then: [n]. links: [n, n]."""
    even = 1 / max(len(links), 1)
    totals = links.sum(1, keepdims=True)
    steps = np.divide(links, totals, out=np.full_like(links, even), where=totals > 0)
    shares: Floats = np.linalg.solve(np.eye(len(links)) - DAMPING * steps.T, np.full(len(links), (1 - DAMPING) * even))
    return shares.round(12)  # words with the same links tie, whatever the last digits say


def yake_rankings(documents: Sequence[Document], report_words: ReportWords) -> list[Ranked] | None:
    """Phrases by YAKE with its usual settings; None if it is not installed."""
    try:
        import yake
    except ImportError:
        return None
    extractor = yake.KeywordExtractor(lan="en", n=3, top=40)
    if report_words == "exclude":
        stop_words = set(extractor.stopword_set) | words_of_reports()
        extractor = yake.KeywordExtractor(lan="en", n=3, top=40, stopwords=stop_words)
    return [
        list(dict.fromkeys(phrase_stems(phrase) for phrase, _ in extractor.extract_keywords(document.text)))
        for document in documents
    ]
