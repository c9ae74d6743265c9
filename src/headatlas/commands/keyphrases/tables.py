"""The tables of an extraction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from headatlas.commands.keyphrases.documents import Document
from headatlas.commands.keyphrases.extraction import Scored, combined
from headatlas.commands.keyphrases.word_weights import Weights
from headatlas.corpora.keyphrases.key_words import OUTSIDE, tag_words
from headatlas.models.stacks import HeadShape
from headatlas.probes.keyphrases import Combination

SHOWN = 12  # documents whose words are kept, to be drawn


def found_table(documents: Sequence[Document], scored: Sequence[Sequence[Scored]], top: int) -> pd.DataFrame:
    """document, rank, phrase, score, right: the first phrases of every document."""
    rows = [
        (document.id, rank, one.candidate.text, one.score, _right(document, one))
        for document, own in zip(documents, scored, strict=True)
        for rank, one in enumerate(own[:top], start=1)
    ]
    return pd.DataFrame(rows, columns=["document", "rank", "phrase", "score", "right"]).astype({"right": "boolean"})


def words_table(
    documents: Sequence[Document],
    weights: Sequence[Weights],
    heads: Sequence[int],
    scored: Sequence[Sequence[Scored]],
    top: int,
) -> pd.DataFrame:
    """document, place, line, word, weight, found, key: the first documents word by word."""
    rows: list[tuple[object, ...]] = []
    for document, received, own in list(zip(documents, weights, scored, strict=True))[:SHOWN]:
        tags, _ = tag_words(document.words, document.gold)
        places = [place for one in own[:top] for place in one.candidate.places]
        found = {word for start, end in places for word in range(start, end)}
        words = zip(document.words.words, document.words.lines, combined(received, heads).tolist(), tags, strict=True)
        for place, (word, line, weight, tag) in enumerate(words):
            key = bool(tag != OUTSIDE) if document.gold else None
            rows.append((document.id, place, line, word, weight, place in found, key))
    columns = ["document", "place", "line", "word", "weight", "found", "key"]
    return pd.DataFrame(rows, columns=columns).astype({"found": "boolean", "key": "boolean"})


def curve_table(found: Combination, documents: int) -> pd.DataFrame:
    """method, heads, precision, recall, f1, low, high, count."""
    return pd.DataFrame([vars(point) for point in found.curve]).assign(count=documents)


def weights_table(
    found: Combination, shape: HeadShape, behaviours: Mapping[tuple[int, int], Sequence[str]]
) -> pd.DataFrame:
    """layer, head, rank, coefficient, share, behaviours: what each head counts, and what it is known for elsewhere."""
    rows = [
        (*place, int(rank) + 1, coefficient, share, ", ".join(behaviours.get(place, ())))
        for place, rank, coefficient, share in zip(
            shape.numbered, found.rank, found.coefficient.tolist(), found.share.tolist(), strict=True
        )
    ]
    return pd.DataFrame(rows, columns=["layer", "head", "rank", "coefficient", "share", "behaviours"])


def _right(document: Document, one: Scored) -> bool | None:
    return one.candidate.stems in document.gold if document.gold else None
