"""Precision, recall and F1 of the first k phrases, as the field has it: exact match of stems, means over documents.

All keyphrases of a document count, also those that do not stand in its text and so cannot be found there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.commands.keyphrases.documents import Document
from headatlas.corpora.keyphrases.phrases import Stems
from headatlas.statistics.paired import bootstrap_means

CUTS = (5, 10, 15)
COLUMNS = ["method", "k", "precision", "recall", "f1", "low", "high", "count"]


def precision_recall_f1(found: Sequence[Stems], gold: Collection[Stems], k: int) -> tuple[float, float, float]:
    """Of the first k phrases found; of fewer, where there are fewer."""
    first = list(dict.fromkeys(found))[:k]
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
    for method, found in rankings.items():
        for k in CUTS:
            scores: NDArray[np.float64] = np.array(
                [precision_recall_f1(own, one.gold, k) for own, one in zip(found, documents, strict=True)]
            )
            low, high = bootstrap_means(scores[:, 2:], ids, seed=seed, resamplings=resamplings)
            rows.append((method, k, *scores.mean(0).tolist(), low.item(), high.item(), len(ids)))
    return pd.DataFrame(rows, columns=COLUMNS)
