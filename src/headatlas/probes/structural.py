"""Do hidden states hold the tree? The structural probe of Hewitt and Manning (2019), on every layer at once.

A linear map B of a given rank is learned so that ``|B (h_i - h_j)|^2`` comes near the number of edges between words i
and j (distance), and another so that ``|B h_i|^2`` comes near the number of edges above word i (depth). The loss is the
absolute difference, averaged over a sentence's pairs or words, then over sentences. Layer 0 is the embeddings' output.

Scores say how well the learned distances and depths give the tree back:

- ``uuas``: edges of the tree that the minimum spanning tree over predicted distances has too; punctuation is left out
  of both.
- ``root_accuracy``: sentences in which the word of least predicted depth, punctuation left out, is the root.
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
from torch import Tensor, nn

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.probes.batches import ProbeBatch, Sentences
from headatlas.probes.probe import Probe
from headatlas.progress import moved
from headatlas.statistics.correlation import spearman

FIRST_WIDTH = 0.05
SHORTEST, LONGEST = 5, 50  # words of a sentence, where ranks are compared

Numbers = NDArray[np.float64]


def ancestors(targets: Tensor) -> Tensor:
    """Which words lie above each word, itself among them: [B, W, W] bool. targets: heads as in `ProbeBatch`."""
    words = targets.shape[1]
    parent = (targets[..., None] == torch.arange(words, device=targets.device)).float()
    above = parent + torch.eye(words, device=targets.device)
    for _ in range(max(1, (words - 1).bit_length())):  # each product doubles how far up one sees
        above = (above @ above).clamp_max(1)
    return above > 0


def tree_depths(targets: Tensor) -> Tensor:
    """Edges between each word and its root: [B, W] float."""
    return ancestors(targets).sum(-1).float() - 1


def tree_distances(targets: Tensor) -> Tensor:
    """Edges between each two words: [B, W, W] float."""
    above = ancestors(targets).float()
    count = above.sum(-1)
    return count[:, :, None] + count[:, None] - 2 * above @ above.transpose(1, 2)


class StructuralProbe(Probe[ProbeBatch]):
    """Distance and depth probes of all layers side by side: first the layers' distances, then their depths."""

    reads = "states"
    learning_rate = 0.001

    def __init__(self, layers: int, width: int, rank: int) -> None:
        super().__init__()
        self.layers = layers  # with the embeddings' output
        self.maps = nn.Parameter(torch.empty(2 * layers, width, rank).uniform_(-FIRST_WIDTH, FIRST_WIDTH))

    @property
    def side_by_side(self) -> int:
        return 2 * self.layers

    def distances(self, batch: ProbeBatch) -> Tensor:
        """Squared distances of the mapped words: [B, L + 1, W, W]."""
        mapped = self._mapped(batch, self.maps[: self.layers])
        squares = mapped.square().sum(-1)
        products = mapped @ mapped.transpose(-1, -2)
        return (squares[..., None] + squares[..., None, :] - 2 * products).clamp_min(0)

    def depths(self, batch: ProbeBatch) -> Tensor:
        """Squared lengths of the mapped words: [B, L + 1, W]."""
        return self._mapped(batch, self.maps[self.layers :]).square().sum(-1)

    def losses(self, batch: ProbeBatch) -> tuple[Tensor, Tensor]:
        """Each probe's mean absolute error, summed over sentences, and the number of sentences: [2 (L + 1)] each."""
        mask, sizes = batch.mask, batch.sizes.float()
        pairs = (mask[:, None] & mask[:, :, None])[:, None]  # [B, 1, W, W]
        far = (self.distances(batch) - tree_distances(batch.targets)[:, None]).abs().masked_fill(~pairs, 0)
        deep = (self.depths(batch) - tree_depths(batch.targets)[:, None]).abs().masked_fill(~mask[:, None], 0)
        of_distance = (far.sum((2, 3)) / sizes.square()[:, None]).sum(0)
        of_depth = (deep.sum(2) / sizes[:, None]).sum(0)
        return torch.cat([of_distance, of_depth]), sizes.new_full((self.side_by_side,), len(sizes))

    def _mapped(self, batch: ProbeBatch, maps: Tensor) -> Tensor:
        if batch.states is None:
            raise ValueError("a structural probe needs hidden states")
        return batch.states @ maps  # [B, L + 1, W, D] @ [L + 1, D, R]


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
    """Score a trained probe on these sentences; those with fewer than two words besides punctuation have no edges."""
    edges_right = np.zeros((len(places), probe.layers))
    root_right = np.zeros((len(places), probe.layers))
    edges = np.zeros(len(places))
    number = {place: row for row, place in enumerate(places)}
    by_length: dict[str, dict[int, list[Numbers]]] = {"distance": defaultdict(list), "depth": defaultdict(list)}
    with torch.no_grad():
        for batch in sentences.batches(places, "states", most):
            moved()
            predicted = (probe.distances(batch), probe.depths(batch))
            true = (tree_distances(batch.targets), tree_depths(batch.targets))
            far, deep, true_far, true_deep = (tensor.double().cpu().numpy() for tensor in (*predicted, *true))
            for row, place in enumerate(batch.places):
                size, unit = int(sentences.sizes[place]), number[place]
                relations = sentences.examples[place].relations or ()
                words = np.array([relation not in punctuation for relation in relations])
                heads = sentences.heads[place]
                distances, depths = far[row, :, :size, :size], deep[row, :, :size]
                edges_right[unit], edges[unit] = right_edges(distances, heads, words)
                root_right[unit] = right_root(depths, heads, words)
                if SHORTEST <= size <= LONGEST:
                    by_length["distance"][size].extend(spearman(distances, true_far[row, :size, :size]).T)
                    by_length["depth"][size].append(spearman(depths, true_deep[row, :size]))
    return StructuralScores(
        [sentences.examples[place].id for place in places],
        edges_right,
        edges,
        root_right,
        *(_mean_of_lengths(by_length[kind], probe.layers) for kind in ("distance", "depth")),
    )


def right_edges(distances: Numbers, heads: NDArray[np.int64], words: NDArray[np.bool_]) -> tuple[Numbers, int]:
    """How many true edges each layer's minimum spanning tree has, [L], and how many there are. distances: [L, W, W]."""
    counted = np.flatnonzero(words)
    true = {
        (min(word, head), max(word, head))
        for word, head in zip(counted.tolist(), heads[counted].tolist(), strict=True)
        if head != ROOT and words[head]
    }
    right = np.zeros(len(distances))
    for layer, table in enumerate(distances):
        tree = minimum_spanning_tree(table[np.ix_(counted, counted)] + 1).tocoo()  # + 1: an edge of 0 would be none
        ends = zip(counted[tree.row].tolist(), counted[tree.col].tolist(), strict=True)
        right[layer] = len(true & {(min(pair), max(pair)) for pair in ends})
    return right, len(true)


def right_root(depths: Numbers, heads: NDArray[np.int64], words: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each layer's shallowest word is the root: [L]. depths: [L, W]."""
    allowed = words if words.any() else np.ones_like(words)
    return np.asarray(heads[np.where(allowed, depths, np.inf).argmin(-1)] == ROOT)


def _mean_of_lengths(by_length: dict[int, list[Numbers]], layers: int) -> Numbers:
    """Mean of each length's mean: [L]; NaN where there is no sentence of these lengths."""
    if not by_length:
        return np.full(layers, np.nan)
    of_length = [np.nan_to_num(np.stack(rows)).mean(0) for _, rows in sorted(by_length.items())]
    return np.asarray(np.mean(of_length, axis=0))
