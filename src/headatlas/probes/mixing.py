"""Scalar mixes: learned weights that sum to 1 over what a probe may see, for many probes side by side.

A series of probes sees layers 0..l, for l = 0, 1, ..., L (cumulative scoring, Tenney et al. 2019); with several seeds
there is one such series a seed. All of them are one network: every parameter has the probes in its first dimension.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from headatlas.probes.probe import Probe
from headatlas.probes.span_batches import SpanBatch


def mixing_weights(scores: Tensor, visible: Tensor) -> Tensor:
    """Softmax over what each probe sees, 0 elsewhere; all 0 where it sees nothing. [P, K] each."""
    weights = scores.masked_fill(~visible, -torch.inf).softmax(1)
    return weights.masked_fill(~visible, 0)


class SpanProbe(Probe[SpanBatch]):
    """Probes for labels of spans that mix what they see; P of them, the series of one seed after the other."""

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
        """How many probes these are: P."""
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

    def log_probabilities(self, batch: SpanBatch) -> Tensor:
        """Of each label: [P, B, C]."""
        logits = self.logits(batch)
        return functional.logsigmoid(logits) if self.several else logits.log_softmax(-1)

    def losses(self, batch: SpanBatch) -> tuple[Tensor, Tensor]:
        """Each probe's summed loss in nats, over labels too where several are allowed, and the targets: [P] each."""
        spent = target_nats(self.logits(batch), batch.answers, self.several)
        return spent.sum(1), spent.new_full((self.side_by_side,), len(batch))

    def parameter_groups(self) -> list[dict[str, Any]]:
        """The mix learns at a rate of its own: steps of the usual size would hardly move it."""
        mixing = [self.scores, self.gamma]
        others = [one for one in self.parameters() if all(one is not mixed for mixed in mixing)]
        groups = [{"params": mixing, "lr": self.mixing_rate}, {"params": others, "lr": self.learning_rate}]
        return [group for group in groups if group["params"]]


def target_nats(logits: Tensor, answers: Tensor, several: bool) -> Tensor:
    """What each probe spends on each target: [P, B]. logits: [P, B, C]; answers: [B], or [B, C] where several."""
    if several:
        wanted = answers.to(logits.dtype).expand_as(logits)
        return functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none").sum(-1)
    return functional.cross_entropy(logits.flatten(0, 1), answers.repeat(len(logits)), reduction="none").view(
        len(logits), -1
    )


def cumulative(columns: Tensor, lasts: Sequence[int], seeds: int) -> Tensor:
    """What probes that see columns up to each last one may see, for every seed: [seeds * lasts, K] bool.

    columns: [K], the layer each column belongs to.
    """
    return (columns <= torch.tensor(list(lasts))[:, None]).repeat(seeds, 1)


def alike(draw: Callable[[torch.Generator], Tensor], seeds: Sequence[int], series: int) -> nn.Parameter:
    """First weights: those drawn with a seed for all probes of its series, so that only what they see differs."""
    drawn = [draw(torch.Generator().manual_seed(seed)) for seed in seeds]
    return nn.Parameter(torch.stack([one for one in drawn for _ in range(series)]))
