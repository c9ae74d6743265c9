"""How well learned distances and depths give the tree back (Hewitt and Manning 2019).

- ``uuas``: edges of the tree that the minimum spanning tree over predicted distances has too; punctuation is left out
  of both.
- ``root_accuracy``: sentences whose word of least predicted depth, punctuation left out, is the root.
- ``spearman``: rank correlation of predicted and true distances, one for each word's row (of depths: one for each
  sentence), averaged over sentences of each length from 5 to 50 words, then over these lengths.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import rankdata

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.batches import Sentences
from headatlas.probes.structural import StructuralProbe, tree_depths, tree_distances

SHORTEST, LONGEST = 5, 50

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class StructuralScores:
    """Sums for every sentence (S) and layer (L, with the embeddings' output)."""

    ids: list[str]
    edges_right: Numbers  # [S, L]
    edges: Numbers  # [S]
    root_right: Numbers  # [S, L]
    distance_spearman: Numbers  # [L]
    depth_spearman: Numbers  # [L]


def structural_scores(
    probe: StructuralProbe, sentences: Sentences, places: Sequence[int], punctuation: Collection[str], most: int = 32
) -> StructuralScores:
    """Score a trained probe on these sentences; those without two words that are no punctuation have no edges."""
    edges_right = np.zeros((len(places), probe.layers))
    root_right = np.zeros((len(places), probe.layers))
    edges = np.zeros(len(places))
    number = {place: row for row, place in enumerate(places)}
    by_length: dict[str, dict[int, list[Numbers]]] = {"distance": defaultdict(list), "depth": defaultdict(list)}
    with torch.no_grad():
        for batch in sentences.batches(places, "states", most):
            found = [tensor.double().cpu().numpy() for tensor in (probe.distances(batch), probe.depths(batch))]
            true = [
                tensor.double().cpu().numpy() for tensor in (tree_distances(batch.targets), tree_depths(batch.targets))
            ]
            for row, place in enumerate(batch.places):
                size, unit = int(sentences.sizes[place]), number[place]
                relations = sentences.examples[place].relations or ()
                words = np.array([relation not in punctuation for relation in relations])
                heads = sentences.heads[place]
                distances, depths = found[0][row, :, :size, :size], found[1][row, :, :size]
                edges_right[unit], edges[unit] = right_edges(distances, heads, words)
                root_right[unit] = right_root(depths, heads, words)
                if SHORTEST <= size <= LONGEST:
                    far = spearman(distances, true[0][row, :size, :size])  # [L, W]
                    by_length["distance"][size].extend(far.T)
                    by_length["depth"][size].append(spearman(depths, true[1][row, :size]))
    return StructuralScores(
        [sentences.examples[place].id for place in places],
        edges_right,
        edges,
        root_right,
        *(_mean_of_lengths(by_length[kind], probe.layers) for kind in ("distance", "depth")),
    )


def right_edges(distances: Numbers, heads: NDArray[np.int64], words: NDArray[np.bool_]) -> tuple[Numbers, int]:
    """How many true edges each layer's minimum spanning tree has, [L], and how many there are. distances: [L, W, W]."""
    kept = np.flatnonzero(words)
    true = {
        (min(word, head), max(word, head))
        for word, head in zip(kept.tolist(), heads[kept].tolist(), strict=True)
        if head != ROOT and words[head]
    }
    right = np.zeros(len(distances))
    for layer, table in enumerate(distances):
        tree = minimum_spanning_tree(table[np.ix_(kept, kept)] + 1).tocoo()  # + 1: an edge of 0 would be none
        ends = zip(kept[tree.row].tolist(), kept[tree.col].tolist(), strict=True)
        right[layer] = len(true & {(min(pair), max(pair)) for pair in ends})
    return right, len(true)


def right_root(depths: Numbers, heads: NDArray[np.int64], words: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each layer's shallowest word is the root: [L]. depths: [L, W]."""
    allowed = words if words.any() else np.ones_like(words)
    found: NDArray[np.bool_] = heads[np.where(allowed, depths, np.inf).argmin(-1)] == ROOT
    return found


def spearman(predicted: Numbers, true: Numbers) -> Numbers:
    """Rank correlation along the last dimension; NaN where one side is constant. Leading dimensions broadcast."""
    left, right = (rankdata(numbers, axis=-1) for numbers in (predicted, true))
    left, right = (ranks - ranks.mean(-1, keepdims=True) for ranks in (left, right))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Numbers = (left * right).sum(-1) / np.sqrt((left**2).sum(-1) * (right**2).sum(-1))
    return found


def _mean_of_lengths(by_length: dict[int, list[Numbers]], layers: int) -> Numbers:
    """Mean of each length's mean: [L]; NaN where there is no sentence of these lengths."""
    if not by_length:
        return np.full(layers, np.nan)
    of_length = [np.nan_to_num(np.stack(rows)).mean(0) for _, rows in sorted(by_length.items())]
    found: Numbers = np.mean(of_length, axis=0)
    return found
