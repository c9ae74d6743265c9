"""Can attention alone say whether two spans are joined? A scalar mix over heads, the competitor of that over layers.

A pair of spans scores ``gamma * sum_k softmax(s)_k x_k + b``, where x are the attention of every head from the first
span to the second and back: to a span the sum over its tokens, from it the mean. A probe sees the heads of layers 1..l;
with l = 0 it sees none and can only tell which answer is commoner.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from headatlas.models.stacks import HeadShape
from headatlas.probes.mixing import SpanProbe, cumulative
from headatlas.probes.span_batches import Labels, SpanBatch

FIRST_GAMMA = 10.0  # attention between two spans is small


class HeadMixProbe(SpanProbe):
    """A series of head mixes. They start from equal weights, so there is nothing to draw by a seed."""

    reads = "maps"
    mixing_rate = 0.05
    positive: Tensor

    def __init__(self, lasts: Sequence[int], shape: HeadShape, labels: Labels) -> None:
        """lasts: the last layer whose heads each probe sees, 0 for none."""
        layers = torch.tensor([layer + 1 for layer, _ in shape.places])
        super().__init__(cumulative(layers.repeat(2), lasts, 1), several=False, gamma=FIRST_GAMMA)
        self.bias = nn.Parameter(torch.zeros(self.side_by_side))
        self.register_buffer("positive", torch.arange(len(labels.names)).ne(labels.negative or 0))

    def logits(self, batch: SpanBatch) -> Tensor:
        """0 for `none`, the pair's score for the other label: [P, B, 2]."""
        if batch.pairs is None:
            raise ValueError("a head mix needs attention between spans")
        scores = self.mix @ batch.pairs.T + self.bias[:, None]
        return scores[..., None] * self.positive
