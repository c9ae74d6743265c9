"""How much does each head attend to the first token?"""

from __future__ import annotations

from torch import Tensor

import headatlas as ha

SINKS = ha.Table(
    "sinks",
    "How much attention goes to the first token?",
    (*ha.ONE_HEAD, ha.Value("value", "mean attention, 0 to 1", "share"), *ha.VALUE_INTERVAL, ha.COUNT),
    label="attention to the first token",
    short="first token",
    card="What it attends to",
)


class Sinks(ha.SegmentMeans):
    """Mean attention to the first token, for every head."""

    name = "sinks"
    tables = (SINKS,)
    patterns = (ha.Pattern("sink", "the first token", "sinks", least=0.02),)

    def segment_means(self, layer_map: ha.LayerMap) -> Tensor:
        real = layer_map.batch.mask[:, None].to(layer_map.weights)  # [B, 1, Q]
        to_first = layer_map.weights[..., 0] * real  # [B, H, Q]
        return (to_first.sum(-1) / real.sum(-1)).unsqueeze(-1)  # [B, H, 1]
