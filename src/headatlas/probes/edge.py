"""What do the layers know of a span? Edge probes with a scalar mix of hidden states (Tenney et al. 2019).

A probe sees layers 0..l, 0 the embeddings' output. It mixes them, ``h = gamma * sum_l softmax(s)_l h_l``, projects each
token, pools a span's tokens by attention (a learned vector a span), joins the spans of a target, and classifies them
with one hidden layer. The probes of all l, and of several seeds, are trained together: their parameters lie side by
side and each step is a few batched matrix products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from headatlas.probes.mixing import SpanProbe, alike, cumulative
from headatlas.probes.span_batches import Labels, SpanBatch


class EdgeProbe(SpanProbe):
    """Edge probes of the series of some seeds, each series a probe for every last layer."""

    reads = "states"
    mixing_rate = 0.02

    def __init__(
        self, lasts: Sequence[int], states: int, labels: Labels, *, spans: int, width: int, seeds: Sequence[int]
    ) -> None:
        """lasts: the last layer that each probe of a series sees. states: numbers in a hidden state."""
        self.layers = max(lasts) + 1
        super().__init__(cumulative(torch.arange(self.layers), lasts, len(seeds)), labels.several)
        self.spans = spans
        classes = len(labels.names)
        shapes = {"project": (states, width), "join": (spans * width, width), "classify": (width, classes)}
        for name, (rows, columns) in shapes.items():
            bound = math.sqrt(1 / rows)

            def draw(dice: torch.Generator, rows: int = rows, columns: int = columns, bound: float = bound) -> Tensor:
                return torch.empty(rows, columns).uniform_(-bound, bound, generator=dice)

            setattr(self, name, alike(draw, seeds, len(lasts)))
            setattr(self, f"{name}_bias", nn.Parameter(torch.zeros(self.side_by_side, 1, columns)))
        self.attend = nn.Parameter(torch.zeros(self.side_by_side, width, spans))

    project: nn.Parameter  # [P, D, R]
    project_bias: nn.Parameter
    join: nn.Parameter  # [P, S R, R]
    join_bias: nn.Parameter
    classify: nn.Parameter  # [P, R, C]
    classify_bias: nn.Parameter

    def logits(self, batch: SpanBatch) -> Tensor:
        """Scores of the labels: [P, B, C]."""
        if batch.states is None:
            raise ValueError("an edge probe needs hidden states")
        states = batch.states[: self.layers]
        mixed = (self.mix @ states.flatten(1)).view(self.side_by_side, *states.shape[1:])  # [P, N, D]
        projected = torch.baddbmm(self.project_bias, mixed, self.project)  # [P, N, R]
        pooled = self._pooled(projected, batch)  # [P, S B, R]
        joined = torch.cat(pooled.chunk(self.spans, 1), -1)  # [P, B, S R]
        hidden = torch.baddbmm(self.join_bias, joined, self.join).relu()
        return torch.baddbmm(self.classify_bias, hidden, self.classify)

    def _pooled(self, projected: Tensor, batch: SpanBatch) -> Tensor:
        """Each span's tokens, weighed by attention: [P, S B, R]."""
        spans = self.spans * len(batch)
        tokens = projected.index_select(1, batch.token)  # [P, M, R]
        if len(batch.token) == spans:  # one token each, in the order of the layout, which need not be that of the spans
            return torch.zeros_like(tokens).index_copy(1, batch.span, tokens)
        scores = torch.bmm(projected, self.attend)[:, batch.token, batch.span // len(batch)]  # [P, M]
        weights = softmax_within(scores, batch.span, spans)
        empty = tokens.new_zeros(len(tokens), spans, tokens.shape[2])
        return empty.index_add(1, batch.span, tokens * weights[..., None])


def softmax_within(scores: Tensor, group: Tensor, groups: int) -> Tensor:
    """Softmax of scores [P, M] within each group of columns; group: [M], none of the groups empty."""
    empty = scores.new_full((len(scores), groups), -torch.inf)
    most = empty.scatter_reduce(1, group.expand_as(scores), scores.detach(), "amax")
    raised = (scores - most[:, group]).exp()
    total = scores.new_zeros(len(scores), groups).index_add(1, group, raised)
    return raised / total[:, group]
