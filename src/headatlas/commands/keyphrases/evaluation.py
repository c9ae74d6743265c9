"""How good the phrases are: precision, recall and F1 of the first k, beside those of methods without a model.

As the field has it: exact match of stems, means over documents. All keyphrases of a document count, also those that do
not occur in its text and so cannot be found there.

The other methods rank by place, TF-IDF, TextRank and YAKE. All but YAKE, which has candidates of its own, rank the
candidates that heads rank. TF-IDF takes its document frequencies from the documents at hand (stems, smoothed, as
scikit-learn counts). TextRank (Mihalcea and Tarau 2004) ranks the words of candidates by PageRank over their
neighbourhood in the text. Both score a candidate by the sum over its words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.commands.keyphrases.candidates import Candidate, Scored
from headatlas.commands.keyphrases.key_words import Document
from headatlas.commands.keyphrases.phrases import Stems, phrase_stems
from headatlas.commands.keyphrases.tables import KEYPHRASE_SCORES
from headatlas.statistics.paired import bootstrap_means

CUTS = (5, 10, 15)
DAMPING = 0.85
NEIGHBOURS = 2  # words within this distance among candidates' words are linked
Ranked = list[Stems]  # the best first


def precision_recall_f1(phrases: Sequence[Stems], gold: Collection[Stems], k: int) -> tuple[float, float, float]:
    """Scores of the first k phrases, or of all if there are fewer."""
    first = list(dict.fromkeys(phrases))[:k]
    right = sum(phrase in gold for phrase in first)
    precision = right / len(first) if first else 0.0
    recall = right / len(gold) if gold else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0


def score_table(
    rankings: Mapping[str, Sequence[Sequence[Stems]]], documents: Sequence[Document], *, seed: int, resamplings: int
) -> pd.DataFrame:
    """Every method at every cut, the interval of F1 over documents. rankings: method -> a ranking of each document."""
    ids = [document.id for document in documents]
    rows: list[tuple[object, ...]] = []
    for method, of_documents in rankings.items():
        pairs = list(zip(of_documents, documents, strict=True))
        for k in CUTS:
            scores = np.array([precision_recall_f1(ranking, document.gold, k) for ranking, document in pairs])
            low, high = bootstrap_means(scores[:, 2:], ids, seed=seed, resamplings=resamplings)
            rows.append((method, k, *scores.mean(0).tolist(), low.item(), high.item(), len(ids)))
    return pd.DataFrame(rows, columns=KEYPHRASE_SCORES.names)


def rank_all(
    documents: Sequence[Document], candidates: Sequence[Sequence[Candidate]], scored: Sequence[Sequence[Scored]]
) -> tuple[dict[str, list[Ranked]], dict[str, str]]:
    """Rank the candidates of every document by every method; return the methods that cannot run, and why, too."""
    methods = {"tf_idf": by_tf_idf(documents), "text_rank": by_text_rank, "position": by_position}
    skipped = {}
    if (yake := by_yake()) is not None:
        methods["yake"] = yake
    else:
        skipped["yake"] = "the package yake is not installed (pip install yake)."
    rankings = {"heads": [[phrase.candidate.stems for phrase in phrases] for phrases in scored]}
    for name, rank in methods.items():
        rankings[name] = [rank(document, of_text) for document, of_text in zip(documents, candidates, strict=True)]
    return rankings, skipped


def by_position(_document: Document, candidates: Sequence[Candidate]) -> Ranked:
    """Rank candidates as they occur in the text."""
    return [candidate.stems for candidate in sorted(candidates, key=lambda candidate: candidate.places[0])]


def by_tf_idf(documents: Sequence[Document]) -> Callable[[Document, Sequence[Candidate]], Ranked]:
    """A ranking by TF-IDF, with the document frequencies of these documents."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def stems_of(document: Document) -> Stems:
        return document.words.stems()

    fitted = TfidfVectorizer(analyzer=stems_of, norm=None).fit(documents)

    def rank(document: Document, candidates: Sequence[Candidate]) -> Ranked:
        row = fitted.transform([document]).toarray()[0]
        scores = {stem: row[fitted.vocabulary_[stem]] for stem in set(stems_of(document))}
        return ranked(candidates, [sum(scores[stem] for stem in candidate.stems) for candidate in candidates])

    return rank


def by_text_rank(document: Document, candidates: Sequence[Candidate]) -> Ranked:
    """Rank candidates by the PageRank of their words."""
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
    return ranked(candidates, [sum(rank[stem] for stem in candidate.stems) for candidate in candidates])


def page_rank(links: NDArray[np.float64]) -> NDArray[np.float64]:
    """The stationary shares of a walk along the links that restarts anywhere now and then: [n]. links: [n, n]."""
    even = 1 / max(len(links), 1)
    totals = links.sum(1, keepdims=True)
    steps = np.divide(links, totals, out=np.full_like(links, even), where=totals > 0)
    shares: NDArray[np.float64] = np.linalg.solve(
        np.eye(len(links)) - DAMPING * steps.T, np.full(len(links), (1 - DAMPING) * even)
    )
    return shares.round(12)  # words with the same links tie, whatever the last digits say


def by_yake() -> Callable[[Document, Sequence[Candidate]], Ranked] | None:
    """A ranking by YAKE (Campos et al. 2020) with its usual settings; None if it is not installed."""
    try:
        import yake
    except ImportError:
        return None
    extractor: Any = yake.KeywordExtractor(lan="en", n=3, top=40)

    def rank(document: Document, _candidates: Sequence[Candidate]) -> Ranked:
        phrases = (phrase_stems(phrase) for phrase, _ in extractor.extract_keywords(document.text))
        return list(dict.fromkeys(phrases))

    return rank


def ranked(candidates: Sequence[Candidate], scores: Sequence[float]) -> Ranked:
    """Candidates by falling score; equal scores in the order of the text."""
    order = sorted(range(len(candidates)), key=lambda place: (-scores[place], candidates[place].places[0]))
    return [candidates[place].stems for place in order]
