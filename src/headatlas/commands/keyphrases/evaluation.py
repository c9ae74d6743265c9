"""How good the phrases are: precision, recall and F1 of the first k of each method, and the lead of the chosen heads.

As the field has it: exact match of stems. All keyphrases of a document count, also those that do not occur in its text
and so cannot be found there. F1 is averaged over documents (macro), or computed from the counts of all documents
together (micro). Of a method with variants, such as sets of random heads, all scores are means over the variants.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headatlas.commands.keyphrases.candidates import ReportWords
from headatlas.commands.keyphrases.methods import Rankings
from headatlas.commands.keyphrases.phrases import Document, Stems
from headatlas.commands.keyphrases.tables import KEYPHRASE_LEADS, KEYPHRASE_SCORES
from headatlas.statistics.paired import bootstrap_means, simultaneous_leads
from headatlas.statistics.resampling import percentile_interval, poisson_weights

CUTS = (5, 10, 15)
CUT = 10  # phrases of a document, by whose F1 heads are chosen and methods compared in words
Floats = NDArray[np.float64]


def count_right(phrases: Sequence[Stems], gold: Collection[Stems], k: int) -> tuple[int, int, int]:
    """How many of the first k phrases (or of all, if fewer) are right, how many those are, and how many are given."""
    first = list(dict.fromkeys(phrases))[:k]
    return sum(phrase in gold for phrase in first), len(first), len(gold)


def precision_recall_f1(counts: Floats) -> Floats:
    """Scores [..., 3] of counts [..., 3] as `count_right` makes them; 0 where nothing is right."""
    right, listed, gold = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    shares = (right / np.maximum(whole, 1) for whole in (listed, gold, (listed + gold) / 2))
    return np.stack(list(shares), -1)


def document_counts(rankings: Rankings, documents: Sequence[Document], k: int) -> Floats:
    """The counts of every variant and document: [V, D, 3]."""
    return np.array(
        [
            [count_right(ranking, document.gold, k) for ranking, document in zip(variant, documents, strict=True)]
            for variant in rankings
        ],
        dtype=np.float64,
    )


def mean_f1(rankings: Rankings, documents: Sequence[Document]) -> float:
    """Mean over variants and documents of the F1 of the first CUT phrases."""
    return float(precision_recall_f1(document_counts(rankings, documents, CUT))[..., 2].mean())


def score_tables(
    rankings: Mapping[ReportWords, Mapping[str, Rankings]],
    documents: Sequence[Document],
    *,
    seed: int,
    resamplings: int,
) -> dict[str, pd.DataFrame]:
    """Every method at every cut, and the lead of the heads over each. rankings: report words -> method -> rankings."""
    ids = [document.id for document in documents]
    weights = poisson_weights(ids, resamplings, seed).T.astype(np.float64)  # [R, D]
    scores: list[tuple[object, ...]] = []
    leads: list[tuple[object, ...]] = []
    for report_words, methods in rankings.items():
        for k in CUTS:
            f1 = {}
            for method, of_method in methods.items():
                counts = document_counts(of_method, documents, k)
                by_document = precision_recall_f1(counts).mean(0)  # [D, 3]
                f1[method] = by_document[:, 2]
                low, high = bootstrap_means(by_document[:, 2:], ids, seed=seed, resamplings=resamplings)
                micro, ends = _micro_f1(counts, weights, len(ids))
                spread = precision_recall_f1(counts)[..., 2].mean(1)  # [V]
                ends_of_sets = (spread.min(), spread.max()) if len(spread) > 1 else (np.nan, np.nan)
                macro = by_document.mean(0).tolist()
                row = (*macro, low.item(), high.item(), micro, *ends, *ends_of_sets, len(ids))
                scores.append((report_words, method, k, *row))
            others = [method for method in methods if method != "heads"]
            differences = np.stack([f1["heads"] - f1[method] for method in others], 1)
            lead = simultaneous_leads(differences, ids, seed=seed, resamplings=resamplings)
            columns = zip(others, lead.mean, lead.low, lead.high, lead.p_value, strict=True)
            leads += [(report_words, method, k, *values, len(ids)) for method, *values in columns]
    return {
        "keyphrase_scores": pd.DataFrame(scores, columns=KEYPHRASE_SCORES.names),
        "keyphrase_leads": pd.DataFrame(leads, columns=KEYPHRASE_LEADS.names),
    }


def _micro_f1(counts: Floats, weights: Floats, units: int) -> tuple[float, tuple[float, float]]:
    """F1 of all documents together, mean over variants, and its interval. counts: [V, D, 3]; weights: [R, D]."""
    drawn = precision_recall_f1(np.einsum("rd,vdc->rvc", weights, counts))[..., 2].mean(1)
    low, high = percentile_interval(drawn, units)
    return float(precision_recall_f1(counts.sum(1))[:, 2].mean()), (float(low), float(high))
