"""How much does a head put on the one token it attends to most? (section 3.3)

The paper's broad heads "put at most 10 % on any one word". `value` is the mean over rows of the largest weight,
`highest` the largest weight of any row.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.models.stacks import HeadShape
from headatlas.statistics.surface import Sum
from headatlas.studies.study import LayerMap, SegmentMeans


class MaxAttention(SegmentMeans):
    """The largest weight of a row, for every head."""

    name = "max_attention"
    columns = ("max",)

    def start(self, shape: HeadShape) -> None:
        super().start(shape)
        self._highest = self.add("highest", (shape.layers, shape.most_heads), reduce="max")
        self._highest_seen: dict[int, Tensor] = {}

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        return layer_map.surface[..., [Sum.MAXIMUM]] / layer_map.batch.lengths[:, None, None]

    def see(self, layer: int, layer_map: LayerMap) -> None:
        super().see(layer, layer_map)
        self._highest_seen[layer] = layer_map.surface[..., Sum.HIGHEST].amax(0)  # [H]

    def end_batch(self, batch: Batch) -> None:
        super().end_batch(batch)
        for layer, values in self._highest_seen.items():
            known = self._highest[layer, : len(values)]
            np.maximum(known, values.cpu().double().numpy(), out=known)
        self._highest_seen.clear()

    def table(self) -> pd.DataFrame:
        """layer, head, value, low, high, highest, count."""
        table = self.means().drop(columns="column")
        places = zip(table["layer"], table["head"], strict=True)
        table.insert(5, "highest", [self._highest[layer - 1, head - 1] for layer, head in places])
        return table
