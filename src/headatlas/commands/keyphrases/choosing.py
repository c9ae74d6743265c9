"""Which heads score the candidates: those named, those found on training documents, or those that ship for a model.

To find them, heads are ranked by the average precision with which what a word receives tells keyphrases on the training
documents. Of the first 1, 2, 3 and more heads, with candidates scored by the sum and by the mean over their words, the
pair with the best F1 of ten phrases there is taken. Every other method is scored by sum or mean as the training
documents have it, too. `shipped/NAME.json` holds the outcome for an embedded model, with the corpus it was found on;
`scripts/ship_keyphrase_heads.py` makes it from a finished run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, get_args

import numpy as np

from headatlas.commands.keyphrases.candidates import Scoring
from headatlas.commands.keyphrases.combination import KeyWords, head_precisions
from headatlas.commands.keyphrases.evaluation import mean_f1
from headatlas.commands.keyphrases.methods import DECIDED, Texts, combined, rank_candidates, word_weightings
from headatlas.commands.keyphrases.phrases import OUTSIDE, Document, is_sign, tag_words
from headatlas.commands.keyphrases.word_weights import WordWeights
from headatlas.manifest import HeadsChosen
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape, parse_heads

SHIPPED = frozenset({"embedded"})
TRIED = (1, 2, 3, 5, 8, 12, 18)
SCORINGS: tuple[Scoring, ...] = get_args(Scoring)


@dataclass(frozen=True)
class HeadChoice:
    """Heads by number from 0 (layer after layer), the form of received attention, and where they come from."""

    heads: tuple[int, ...]
    pooling: str
    rows: str
    origin: str
    scoring: Mapping[str, Scoring] = field(default_factory=dict)  # by method; sum where it was not decided
    on_training: Mapping[str, Any] = field(default_factory=dict)  # the scores that decided

    def record(self, shape: HeadShape) -> HeadsChosen:
        """What the manifest says."""
        return {
            "names": head_names(self.heads, shape),
            "pooling": self.pooling,
            "rows": self.rows,
            "origin": self.origin,
            "scoring": dict(self.scoring),
            "on_training": dict(self.on_training),
        }


def head_names(heads: Sequence[int], shape: HeadShape) -> list[str]:
    """Heads by number from 0 as people write them."""
    return [f"{layer}-{head}" for layer, head in (shape.numbered[number] for number in heads)]


def named(names: Sequence[str], shape: HeadShape, model: str, pooling: str, rows: str) -> HeadChoice:
    """Heads by names such as 5-4."""
    places = [shape.numbered.index(head) for head in parse_heads(names, shape, model)]
    return HeadChoice(tuple(dict.fromkeys(places)), pooling, rows, "named")


def shipped(model: Model) -> HeadChoice | None:
    """The heads that ship for a model; None if there are none, or for other weights."""
    if model.name not in SHIPPED:
        return None
    place = files(__package__) / "shipped" / f"{model.name}.json"
    record: Mapping[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    if record["weights_sha256"] != model.source.get("weights_sha256") or model.source.get("random_weights"):
        return None
    choice = named(record["names"], model.shapes[model.default_stack], model.name, record["pooling"], record["rows"])
    origin = f"shipped, found on {record['found_on']}"
    return replace(choice, origin=origin, scoring=record["scoring"], on_training=record["on_training"])


def find_heads(train: Texts, shape: HeadShape, pooling: str, rows: str, seed: int) -> HeadChoice:
    """The heads and the scoring with which training documents get the best phrases."""
    precisions = head_precisions(key_words(train.documents, train.received))
    order = np.argsort(-precisions, kind="stable").tolist()
    tried: dict[str, dict[str, float]] = {scoring: {} for scoring in SCORINGS}
    for size in (size for size in TRIED if size <= len(order)):
        weights = [combined(received, order[:size]) for received in train.received]
        for scoring in SCORINGS:
            tried[scoring][str(size)] = mean_f1([rank_candidates(train, weights, scoring)], train.documents)
    best = max(
        ((size, scoring) for scoring in SCORINGS for size in tried[scoring]), key=lambda pair: tried[pair[1]][pair[0]]
    )
    heads = tuple(order[: int(best[0])])
    return decide_scoring(
        HeadChoice(
            heads,
            pooling,
            rows,
            f"found on {len(train.documents):,} training documents",
            on_training={
                "average_precision": dict(zip(head_names(heads, shape), precisions[list(heads)].tolist(), strict=True)),
                "f1_by_number_of_heads": tried,
            },
        ),
        train,
        seed,
    )


def decide_scoring(choice: HeadChoice, train: Texts, seed: int) -> HeadChoice:
    """Score the candidates of each method by the sum or the mean over words, whichever is better on these documents."""
    weightings = word_weightings(train, choice.heads, seed)
    f1 = {
        method: {
            scoring: mean_f1(
                [rank_candidates(train, weights, scoring) for weights in weightings[method]], train.documents
            )
            for scoring in SCORINGS
        }
        for method in DECIDED
    }
    scoring = {method: max(SCORINGS, key=lambda name: f1[method][name]) for method in DECIDED}
    on_training = {**choice.on_training, "f1_by_scoring": f1}
    return replace(choice, scoring=scoring, on_training=on_training)


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
