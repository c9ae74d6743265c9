"""What do the layers, or the heads, know of a span? Probes that learn a scalar mix of what they may see.

A mix is a softmax: weights that sum to 1. A series of probes sees layers 0..l, for l = 0, 1, ..., L (cumulative
scoring, Tenney et al. 2019); with several trainings there is one such series per training. All of them are one network:
every parameter has the probes in its first dimension, so each step is a few batched matrix products. Each training may
count texts as often as it likes and learn answers of its own (see `SpanBatch`).

- `EdgeProbe` mixes hidden states, 0 the embeddings' output, ``h = gamma * sum_l softmax(s)_l h_l``, projects each
  token, pools a span's tokens by attention (a learned vector per span), joins the spans of a target, and classifies
  them with one hidden layer.
- `HeadMixProbe` asks whether attention alone can say that two spans are joined. A pair of spans scores
  ``gamma * sum_k softmax(s)_k x_k + b``, where x are the attention of every head from the first span to the second and
  back: to a span the sum over its tokens, from it the mean. A probe sees the heads of layers 1..l; with l = 0 it sees
  none and can only tell which answer is commoner.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from headatlas.models.stacks import HeadShape
from headatlas.probes.probe import Probe
from headatlas.probes.span_batches import Labels, SpanBatch

FIRST_GAMMA = 10.0  # of head mixes: attention between two spans is small


def mixing_weights(scores: Tensor, visible: Tensor) -> Tensor:
    """Softmax over what each probe sees, 0 elsewhere; all 0 where it sees nothing. [P, K] each."""
    weights = scores.masked_fill(~visible, -torch.inf).softmax(1)
    return weights.masked_fill(~visible, 0)


class SpanProbe(Probe[SpanBatch]):
    """Probes for labels of spans that mix what they see; P of them, the series of one training after the other."""

    learning_rate = 0.002
    mixing_rate: ClassVar[float]
    visible: Tensor  # [P, K]

    def __init__(self, visible: Tensor, several: bool, gamma: float = 1.0) -> None:
        """visible: what of K each probe may see, [P, K] bool."""
        super().__init__()
        self.several = several
        self.register_buffer("visible", visible)
        self.scores = nn.Parameter(torch.zeros(visible.shape))
        self.gamma = nn.Parameter(torch.full((len(visible),), gamma))

    @property
    def side_by_side(self) -> int:
        return len(self.scores)

    @abstractmethod
    def logits(self, batch: SpanBatch) -> Tensor:
        """Scores of the labels: [P, B, C]."""

    @property
    def weights(self) -> Tensor:
        """The mix of each probe: [P, K]."""
        return mixing_weights(self.scores, self.visible)

    @property
    def mix(self) -> Tensor:
        """The mix of each probe, multiplied by its gamma: [P, K]."""
        return self.weights * self.gamma[:, None]

    def losses(self, batch: SpanBatch) -> tuple[Tensor, Tensor]:
        """Each probe's summed loss in nats, over labels too where several are allowed, and the targets: [P] each."""
        spent = target_nats(self.logits(batch), batch.answers, self.several)
        weights = of_probes(batch.weights, self.side_by_side)
        return (spent * weights).sum(1), weights.sum(1)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """The mix learns at a rate of its own: steps of the usual size would hardly move it."""
        mixing = [self.scores, self.gamma]
        others = [tensor for tensor in self.parameters() if all(tensor is not mixed for mixed in mixing)]
        groups = [{"params": mixing, "lr": self.mixing_rate}, {"params": others, "lr": self.learning_rate}]
        return [group for group in groups if group["params"]]


def target_nats(logits: Tensor, answers: Tensor, several: bool) -> Tensor:
    """What each probe spends on each target: [P, B]. logits: [P, B, C]; answers: [T, B], or [T, B, C] where several."""
    wanted = of_probes(answers, len(logits))
    if several:
        nats = functional.binary_cross_entropy_with_logits(logits, wanted.to(logits.dtype), reduction="none")
        return nats.sum(-1)
    return functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none").view(len(logits), -1)


def of_probes(of_trainings: Tensor, probes: int) -> Tensor:
    """What belongs to each training [T, ...], repeated for all probes of its series: [P, ...]."""
    return of_trainings.repeat_interleave(probes // len(of_trainings), 0)


def cumulative(columns: Tensor, lasts: Sequence[int], trainings: int) -> Tensor:
    """What probes that see columns up to each last one may see, for every training: [trainings * lasts, K] bool.

    columns: [K], the layer each column belongs to.
    """
    return (columns <= torch.tensor(list(lasts))[:, None]).repeat(trainings, 1)


def alike(draw: Callable[[torch.Generator], Tensor], seeds: Sequence[int], series: int) -> nn.Parameter:
    """First weights: those drawn with a seed for all probes of its series, so that only what they see differs."""
    drawn = [draw(torch.Generator().manual_seed(seed)) for seed in seeds]
    return nn.Parameter(torch.stack([weights for weights in drawn for _ in range(series)]))


class EdgeProbe(SpanProbe):
    """Edge probes of the series of some trainings, each series a probe for every last layer."""

    reads = "states"
    mixing_rate = 0.02

    def __init__(
        self, lasts: Sequence[int], states: int, labels: Labels, *, spans: int, width: int, seeds: Sequence[int]
    ) -> None:
        """lasts: the last layer that each probe of a series sees; seeds: of each training's first weights."""
        self.layers = max(lasts) + 1
        super().__init__(cumulative(torch.arange(self.layers), lasts, len(seeds)), labels.several)
        self.spans = spans
        classes = len(labels.names)
        shapes = {"project": (states, width), "join": (spans * width, width), "classify": (width, classes)}
        for name, (rows, columns) in shapes.items():
            bound = math.sqrt(1 / rows)

            def draw(rng: torch.Generator, rows: int = rows, columns: int = columns, bound: float = bound) -> Tensor:
                return torch.empty(rows, columns).uniform_(-bound, bound, generator=rng)

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


class HeadMixProbe(SpanProbe):
    """Series of head mixes. They start from equal weights, so trainings differ by what they learn from alone."""

    reads = "maps"
    mixing_rate = 0.05
    positive: Tensor

    def __init__(self, lasts: Sequence[int], shape: HeadShape, labels: Labels, trainings: int = 1) -> None:
        """lasts: each probe of a series sees the heads up to this layer; 0 for none."""
        layers = torch.tensor([layer + 1 for layer, _ in shape.places])
        super().__init__(cumulative(layers.repeat(2), lasts, trainings), several=False, gamma=FIRST_GAMMA)
        self.bias = nn.Parameter(torch.zeros(self.side_by_side))
        self.register_buffer("positive", torch.arange(len(labels.names)).ne(labels.negative or 0))

    def logits(self, batch: SpanBatch) -> Tensor:
        """0 for `none`, the pair's score for the other label: [P, B, 2]."""
        if batch.pairs is None:
            raise ValueError("a head mix needs attention between spans")
        scores = self.mix @ batch.pairs.T + self.bias[:, None]
        return scores[..., None] * self.positive
