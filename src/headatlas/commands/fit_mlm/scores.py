"""How well masked tokens are predicted, with the unigram distribution of the training text beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from headatlas.commands.fit_mlm.batches import MaskedBatch
from headatlas.commands.fit_mlm.network import FitNetwork, unigram_log_probabilities


@dataclass(frozen=True)
class Scores:
    """Means over masked tokens: loss in nats, shares of tokens that were the first guess or among the first five."""

    loss: float
    top1: float
    top5: float
    masked_tokens: int

    def rounded(self) -> dict[str, float]:
        """For people and JSON."""
        return {name: round(value, 5) for name, value in asdict(self).items()}


def score(network: FitNetwork, batches: Iterable[MaskedBatch], most_tokens: int | None = None) -> Scores:
    """Score the batches in order, until `most_tokens` tokens are reached."""
    sums = np.zeros(4)
    tokens = 0
    device = network.network.device
    for batch in batches:
        with torch.inference_mode():
            on_device = batch.to(device)
            sums += _sums(network.masked_logits(on_device), on_device.labels)
        tokens += batch.tokens
        if most_tokens is not None and tokens >= most_tokens:
            break
    return _scores(sums)


def unigram_scores(counts: NDArray[np.int64], batches: Iterable[MaskedBatch]) -> Scores:
    """Scores of the unigram baseline."""
    logits = torch.from_numpy(unigram_log_probabilities(counts))
    return _scores(sum((_sums(logits.expand(len(batch.labels), -1), batch.labels) for batch in batches), np.zeros(4)))


def _sums(logits: Tensor, labels: Tensor) -> NDArray[np.float64]:
    hits = logits.topk(min(5, logits.shape[-1])).indices == labels[:, None]  # [N, 5]
    loss = cross_entropy(logits.float(), labels, reduction="sum")
    return np.array([float(loss), float(hits[:, 0].sum()), float(hits.sum()), len(labels)])


def _scores(sums: NDArray[np.float64]) -> Scores:
    loss, top1, top5 = (sums[:3] / sums[3]).tolist()
    return Scores(loss, top1, top5, int(sums[3]))
