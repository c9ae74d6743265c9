"""Attention that each token receives, and how well that ranks the tokens that a corpus marks, its key tokens.

Received attention of a token: the mean, or the largest, of its column, over all rows or over those of text alone. In a
causal model a column has only the rows from its own token on, and the mean is over these.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

POOLINGS = ("mean", "max")
ROWS = ("all", "text")
LEAST_SHARE = 1e-9  # of a document's attention, so that a token which gets none has a finite surprise


def received(weights: Tensor, mask: Tensor, text: Tensor, causal: bool) -> Tensor:
    """Attention received by each token: [B, H, 4, T], mean and max over all rows, then over text rows.

    weights: [B, H, T, T]; mask, text: [B, T] bool, all real tokens, and those that are not special.
    """
    if weights.device.type == "cpu" and weights.dtype != torch.float64:
        from headatlas.statistics.kernels.received import received_cpu

        return received_cpu(weights, mask, text, causal)
    return received_torch(weights, mask, text, causal)


def received_torch(weights: Tensor, mask: Tensor, text: Tensor, causal: bool) -> Tensor:
    """The same with tensor operations, for any device and dtype."""
    if weights.dtype in (torch.float16, torch.bfloat16):
        weights = weights.float()
    forms = []
    for rows in (mask, text):
        counted = rows.to(weights.dtype)
        from_token_on = counted.flip(1).cumsum(1).flip(1)  # rows that see a token of a causal model
        count = from_token_on if causal else from_token_on[:, :1]
        total = (counted[:, None, None] @ weights)[:, :, 0]
        largest = (weights * counted[:, None, :, None]).amax(2)
        forms += [total / count.clamp_min(1)[:, None], largest]
    return torch.stack(forms, 2).masked_fill(~mask[:, None, None], 0)


def key_measures(scores: Tensor, key: Tensor, other: Tensor) -> Tensor:
    """Relative attention, average precision and cross-entropy, in one pass on the CPU: [3, B, H, P]."""
    if scores.device.type == "cpu" and scores.dtype != torch.float64:
        from headatlas.statistics.kernels.received import key_measures_cpu

        return key_measures_cpu(scores, key, other, LEAST_SHARE)
    return torch.stack(
        [measure(scores, key, other) for measure in (relative_attention, average_precision, cross_entropy)]
    )


def relative_attention(scores: Tensor, key: Tensor, other: Tensor) -> Tensor:
    """Mean of the key tokens less that of the others: [B, H, P]. scores: [B, H, P, T]; key, other: [B, T] bool."""
    means = []
    for tokens in (key, other):
        chosen = tokens[:, None, None].to(scores.dtype)
        means.append((scores * chosen).sum(-1) / chosen.sum(-1).clamp_min(1))
    return means[0] - means[1]


def cross_entropy(scores: Tensor, key: Tensor, other: Tensor) -> Tensor:
    """Mean surprise, in nats, of the key tokens under the scores made to sum to 1: [B, H, P].

    That is the cross-entropy of the distribution that is even over key tokens; that of even scores is log(tokens).
    """
    counted = (key | other)[:, None, None].to(scores.dtype)
    shares = scores * counted
    shares = shares / shares.sum(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).tiny)
    chosen = key[:, None, None].to(scores.dtype)
    surprise = -shares.clamp_min(LEAST_SHARE).log() * chosen
    return surprise.sum(-1) / chosen.sum(-1).clamp_min(1)


def average_precision(scores: Tensor, key: Tensor, other: Tensor) -> Tensor:
    """Of key tokens ranked by score: the mean over them of the share of key tokens among those at least as high.

    scores: [B, H, P, T] -> [B, H, P]. Tokens with equal scores stand at one rank, as in scikit-learn.
    """
    ranked, order = scores.masked_fill(~(key | other)[:, None, None], -torch.inf).sort(-1, descending=True)
    of_key = key[:, None, None].expand(scores.shape).gather(-1, order).to(scores.dtype)
    place = torch.arange(scores.shape[-1], device=scores.device)
    last_of_equals = functional.pad(ranked[..., 1:] != ranked[..., :-1], (0, 1), value=True)
    rank = torch.where(last_of_equals, place, scores.shape[-1]).flip(-1).cummin(-1).values.flip(-1)
    precision = of_key.cumsum(-1).gather(-1, rank) / (rank + 1)
    return (precision * of_key).sum(-1) / of_key.sum(-1).clamp_min(1)
