"""Which heads are alike? The Jensen-Shannon divergence of their rows, for all pairs of heads (section 6, figure 6).

Two ways to make one number of a segment's tokens, kept in one state: their sum, as in the paper, where long segments
weigh more; and their mean, between 0 and log 2. Either is then averaged over segments. A token from which one of two
heads attends to nothing (all its mass goes to a learned sink) does not count for that pair: the mean is over the other
tokens, and the sum is that mean times the segment's length. A segment without any token that counts is left out.

What follows from the distances, a map of the heads, clusters and a test of layers, is in `studies.head_map`.

Pairs lie across layers, so all maps of a batch are kept until it ends: batch x heads x tokens x tokens x 4 bytes, or
302 MB for 32 segments of 128 tokens and 144 heads, 1.2 GB for 8 of 512. Beside them one segment's rows are copied.
"""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.models.stacks import HeadShape
from headatlas.statistics.divergence import divergence_sums, rows_of_segment
from headatlas.statistics.surface import widest
from headatlas.statistics.threads import one_thread
from headatlas.studies.study import LayerMap, State, Study, refuse_non_finite

AUTHORS_SMOOTHING = 0.001  # of the paper's released code: a becomes 0.999 a + 0.001 / n
CLUSTERS = 8


def pair_means(sums: Tensor, mass: Tensor) -> tuple[Tensor, Tensor]:
    """The mean divergence of each pair over the rows where both heads have mass, and whether there is any. [H, H]"""
    present = (mass > 0).to(sums.dtype)  # [H, Q]
    tokens = present @ present.T
    return sums / tokens.clamp_min(1), tokens > 0


class Similarity(Study):
    """How differently all pairs of heads attend, where that puts them in the plane, and which are alike.

    per_token: mean over tokens instead of their sum. smoothing: s makes (1 - s) a + s / n of a. clusters: how many to
    make of the heads. map_distance: what the map in the plane keeps.
    """

    name = "similarity"

    def __init__(
        self,
        *,
        per_token: bool = False,
        smoothing: float = 0.0,
        clusters: int = CLUSTERS,
        map_distance: Literal["sqrt_js", "js"] = "sqrt_js",
        seed: int = 0,
        causal: bool = False,
    ) -> None:
        super().__init__(causal)
        self._per_token, self._smoothing = per_token, smoothing
        self._clusters, self._map_distance, self._seed = clusters, map_distance, seed

    def start(self, shape: HeadShape) -> None:
        """Prepare empty sums for a stack of heads."""
        self._shape = shape
        self._heads = [(layer, head) for layer, heads in enumerate(shape.heads) for head in range(heads)]
        self._sum, self._mean, self._count = (np.zeros((shape.total, shape.total)) for _ in range(3))
        self._seen: dict[int, Tensor] = {}

    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Keep the layer's maps until the batch ends."""
        self._seen[layer] = layer_map.weights

    def end_batch(self, batch: Batch) -> None:
        """Compare all heads, a segment at a time, and add to the sums."""
        layers = [weights for _, weights in sorted(self._seen.items())]
        self._seen.clear()
        heads, device = len(self._heads), layers[0].device
        added = torch.zeros(3, heads, heads, dtype=widest(device), device=device)  # sum, mean, count
        masses = torch.zeros(heads, dtype=widest(device), device=device)
        for place, segment in enumerate(batch.segments):
            sums, mass = divergence_sums(rows_of_segment(layers, place, len(segment)), self._smoothing)
            with one_thread():
                mean, counts = pair_means(sums, mass)
                added += torch.stack([mean * len(segment), mean, counts.to(mean.dtype)])
                masses += mass.sum(1)
        ends = np.cumsum(self._shape.heads)
        for layer, own in enumerate(np.split(masses.cpu().double().numpy(), ends[:-1])):
            refuse_non_finite(layer, own[:, None])
        total, mean_total, count = added.cpu().double().numpy()
        self._sum += total
        self._mean += mean_total
        self._count += count

    def merge(self, other: Self) -> None:
        """Add another study's sums to these."""
        self._sum += other._sum
        self._mean += other._mean
        self._count += other._count

    def state(self) -> State:
        """The sums, to be saved."""
        return {"sum": self._sum, "mean": self._mean, "count": self._count}

    def restore(self, state: State) -> None:
        """Take over saved sums."""
        self._sum, self._mean, self._count = (state[name].copy() for name in ("sum", "mean", "count"))

    def tables(self) -> dict[str, pd.DataFrame]:
        """Distances of heads and of layers, the map of heads, and what the map and the test are worth."""
        from headatlas.studies.head_map import map_tables  # needs scikit-learn, which takes a second to import

        heads = np.array(self._heads)
        derived = map_tables(self.distances(), heads, self._clusters, self._map_distance, self._seed)
        return {"head_distances": self.table(), **derived}

    def table(self) -> pd.DataFrame:
        """layer_a, head_a, layer_b, head_b, value, count: each pair once, in the order of the heads."""
        heads = np.array(self._heads) + 1  # [H, 2]
        a, b = np.triu_indices(len(heads), 1)
        columns = {"layer_a": heads[a, 0], "head_a": heads[a, 1], "layer_b": heads[b, 0], "head_b": heads[b, 1]}
        values = {"value": self.distances()[a, b], "count": self._count[a, b].astype(np.int64)}
        return pd.DataFrame(columns | values)

    def distances(self) -> NDArray[np.float64]:
        """The divergence of every pair, [H, H], symmetric; NaN where no segment counts."""
        with np.errstate(invalid="ignore"):
            upper = np.triu((self._mean if self._per_token else self._sum) / self._count, 1)
        return upper + upper.T
