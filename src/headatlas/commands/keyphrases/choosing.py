"""Which heads score the candidates: those named, those found on training documents, or those that ship for a model.

To find them, heads are ranked by the average precision with which what a word receives tells keyphrases on the training
documents; of the first 1, 2, 3 and more heads, the number with the best F1 of ten phrases there is taken.
`shipped/NAME.json` holds the outcome for an embedded model, with the corpus it was found on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from headatlas.commands.keyphrases.candidates import Candidate, combined, score_candidates
from headatlas.commands.keyphrases.combination import KeyWords, ranked_heads
from headatlas.commands.keyphrases.evaluation import precision_recall_f1
from headatlas.commands.keyphrases.key_words import OUTSIDE, Document, tag_words
from headatlas.commands.keyphrases.phrases import is_sign
from headatlas.commands.keyphrases.word_weights import WordWeights
from headatlas.commands.shared.heads import parse_heads
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape

SHIPPED = frozenset({"embedded"})
TRIED = (1, 2, 3, 5, 8, 12, 18)
CUT = 10  # phrases of a document, by whose F1 the number of heads is chosen


@dataclass(frozen=True)
class HeadChoice:
    """Heads by number from 0 (layer after layer), the form of received attention, and where they come from."""

    heads: tuple[int, ...]
    pooling: str
    rows: str
    origin: str

    def names(self, shape: HeadShape) -> list[str]:
        """The heads as people write them."""
        return [f"{layer}-{head}" for layer, head in (shape.numbered[number] for number in self.heads)]


def named(names: Sequence[str], shape: HeadShape, model: str, pooling: str, rows: str) -> HeadChoice:
    """Heads by names such as 5-4."""
    places = [shape.numbered.index(head) for head in parse_heads(names, shape, model)]
    return HeadChoice(tuple(dict.fromkeys(places)), pooling, rows, "named")


def shipped(model: Model) -> HeadChoice | None:
    """The heads that ship for a model; None if there are none, or for other weights."""
    if model.name not in SHIPPED:
        return None
    place = files("headatlas.commands.keyphrases") / "shipped" / f"{model.name}.json"
    record: Mapping[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    if record["weights_sha256"] != model.source.get("weights_sha256") or model.source.get("random_weights"):
        return None
    shape = model.shapes[model.default_stack]
    choice = named(record["heads"], shape, model.name, record["pooling"], record["rows"])
    return HeadChoice(choice.heads, choice.pooling, choice.rows, f"shipped, found on {record['found_on']}")


def found_on(
    documents: Sequence[Document],
    weights: Sequence[WordWeights],
    candidates: Sequence[Sequence[Candidate]],
    pooling: str,
    rows: str,
) -> HeadChoice:
    """The heads with which training documents get the best phrases."""
    order = ranked_heads(key_words(documents, weights))
    scores = {
        size: phrase_f1(documents, weights, candidates, order[:size].tolist()) for size in TRIED if size <= len(order)
    }
    best = max(scores, key=lambda size: (scores[size], -size))
    return HeadChoice(tuple(order[:best].tolist()), pooling, rows, f"found on {len(documents):,} training documents")


def phrase_f1(
    documents: Sequence[Document],
    weights: Sequence[WordWeights],
    candidates: Sequence[Sequence[Candidate]],
    heads: Sequence[int],
) -> float:
    """Mean F1 over documents of the first CUT phrases by these heads."""
    scores = []
    for document, received, of_text in zip(documents, weights, candidates, strict=True):
        phrases = [phrase.candidate.stems for phrase in score_candidates(of_text, combined(received, heads))]
        scores.append(precision_recall_f1(phrases, document.gold, CUT)[2])
    return float(np.mean(scores))


def key_words(documents: Sequence[Document], weights: Sequence[WordWeights]) -> KeyWords:
    """All words of the documents except signs, with what they receive and whether they belong to a keyphrase."""
    parts, key, names = [], [], []
    for document, received in zip(documents, weights, strict=True):
        tags, _ = tag_words(document.words, document.gold)
        places = [place for place, word in enumerate(document.words.words) if not is_sign(word)]
        parts.append(received[places])
        key.append(tags[places] != OUTSIDE)
        names += [document.id] * len(places)
    return KeyWords(np.concatenate(parts), np.concatenate(key), names)
