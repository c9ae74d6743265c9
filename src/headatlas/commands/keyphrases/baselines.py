"""Keyphrases without a model, to compare with: by place, by TF-IDF, by TextRank, by YAKE.

All but YAKE, which has candidates of its own, rank the candidates that heads rank. TF-IDF takes its document
frequencies from the documents at hand (stems, smoothed, as scikit-learn counts). TextRank (Mihalcea and Tarau 2004)
ranks the words of candidates by PageRank over their neighbourhood in the text. Both score a candidate by the sum over
its words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.commands.keyphrases.candidates import Candidate
from headatlas.commands.keyphrases.documents import Document
from headatlas.corpora.keyphrases.phrases import Stems, phrase_stems

DAMPING = 0.85
NEIGHBOURS = 2  # words within this distance among candidates' words are linked
_ROUNDS, _STILL = 100, 1e-8
Ranked = list[Stems]  # the best first


def by_position(_document: Document, candidates: Sequence[Candidate]) -> Ranked:
    """As they stand in the text."""
    return [candidate.stems for candidate in sorted(candidates, key=lambda one: one.places[0])]


def by_tf_idf(documents: Sequence[Document]) -> Callable[[Document, Sequence[Candidate]], Ranked]:
    """A ranking by TF-IDF, with the document frequencies of these documents."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def stems_of(document: Document) -> Stems:
        return document.words.stems()

    fitted = TfidfVectorizer(analyzer=stems_of, norm=None).fit(documents)

    def rank(document: Document, candidates: Sequence[Candidate]) -> Ranked:
        row = fitted.transform([document]).toarray()[0]
        scores = {stem: row[fitted.vocabulary_[stem]] for stem in set(stems_of(document))}
        return ranked(candidates, [sum(scores[stem] for stem in one.stems) for one in candidates])

    return rank


def by_text_rank(document: Document, candidates: Sequence[Candidate]) -> Ranked:
    """By the PageRank of their words."""
    text = document.words.stems()
    inside = sorted({place for one in candidates for start, end in one.places for place in range(start, end)})
    names = sorted({text[place] for place in inside})
    number = {name: place for place, name in enumerate(names)}
    links = np.zeros((len(names), len(names)))
    for order, place in enumerate(inside):
        for other in inside[order + 1 : order + NEIGHBOURS]:
            if other - place < NEIGHBOURS and text[place] != text[other]:
                links[number[text[place]], number[text[other]]] += 1
    rank = dict(zip(names, page_rank(links + links.T), strict=True))
    return ranked(candidates, [sum(rank[stem] for stem in one.stems) for one in candidates])


def page_rank(links: NDArray[np.float64]) -> NDArray[np.float64]:
    """The stationary share of a walk along the links that sets out anew now and then. links: [n, n] -> [n]."""
    count = len(links)
    totals = links.sum(1, keepdims=True)
    steps = np.divide(links, totals, out=np.full_like(links, 1 / max(count, 1)), where=totals > 0)
    share = np.full(count, 1 / max(count, 1))
    for _ in range(_ROUNDS):
        before, share = share, (1 - DAMPING) / max(count, 1) + DAMPING * share @ steps
        if np.abs(share - before).sum() < _STILL:
            break
    return share


def by_yake() -> Callable[[Document, Sequence[Candidate]], Ranked] | None:
    """A ranking by YAKE (Campos et al. 2020) with its usual settings; None where it is not installed."""
    try:
        import yake
    except ImportError:
        return None
    extractor: Any = yake.KeywordExtractor(lan="en", n=3, top=40)

    def rank(document: Document, _candidates: Sequence[Candidate]) -> Ranked:
        found = (phrase_stems(phrase) for phrase, _ in extractor.extract_keywords(document.text))
        return list(dict.fromkeys(found))

    return rank


def ranked(candidates: Sequence[Candidate], scores: Sequence[float]) -> Ranked:
    """Candidates by falling score; of equal ones that first which stands first in the text."""
    order = sorted(range(len(candidates)), key=lambda place: (-scores[place], candidates[place].places[0]))
    return [candidates[place].stems for place in order]
