"""Attention that each token receives, and how well that ranks the tokens that matter (keyphrases).

Received attention of a token: the mean, or the largest, of its column, over all rows or over those of text alone. In a
causal model a column has only the rows from its own token on, and the mean is over these.
"""

from __future__ import annotations

import torch
from torch import Tensor

POOLINGS = ("mean", "max")
ROWS = ("all", "text")
LEAST_SHARE = 1e-9  # of a document's attention, so that a token which gets none has a finite surprise


def received(weights: Tensor, mask: Tensor, text: Tensor, causal: bool) -> Tensor:
    """Attention received by each token: [B, H, 4, T], mean and max over all rows, then over text rows.

    weights: [B, H, T, T]; mask, text: [B, T] bool, real tokens and those of them that are no special tokens.
    """
    if weights.device.type == "cpu" and weights.dtype != torch.float64:
        from headatlas.statistics.kernels.received import received_cpu

        return received_cpu(weights, mask, text, causal)
    return received_torch(weights, mask, text, causal)


def received_torch(weights: Tensor, mask: Tensor, text: Tensor, causal: bool) -> Tensor:
    """The same with tensor operations, for any device and dtype."""
    if weights.dtype in (torch.float16, torch.bfloat16):
        weights = weights.float()
    found = []
    for rows in (mask, text):
        kept = weights.masked_fill(~rows[:, None, :, None], 0)
        counted = rows.to(weights.dtype)
        seen = counted.sum(1, keepdim=True).expand_as(counted)
        if causal:
            seen = counted.flip(1).cumsum(1).flip(1)  # rows from the token on
        found += [kept.sum(2) / seen.clamp_min(1)[:, None], kept.amax(2)]
    return torch.stack(found, 2).masked_fill(~mask[:, None, None], 0)


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
    of_key, of_all = (tokens[:, None, None].to(scores.dtype) for tokens in (key, key | other))
    found = torch.zeros_like(scores[..., 0])
    for place in range(scores.shape[-1]):
        above = (scores >= scores[..., place, None]).to(scores.dtype)
        precision = (above * of_key).sum(-1) / (above * of_all).sum(-1).clamp_min(1)
        found += precision * of_key[..., place]
    return found / of_key.sum(-1).clamp_min(1)
