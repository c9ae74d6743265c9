"""Attention that each token receives, and how well that ranks the tokens that a corpus marks, its key tokens.

Received attention of a token: the mean, or the largest, of its column, over all rows or over those of text alone. In a
causal model a column has only the rows from its own token on, and the mean is over these.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from headatlas.models.tiles import Tile, whole_tile
from headatlas.statistics.kernels.threads import one_thread

POOLINGS = ("mean", "max")
ROWS = ("all", "text")
LEAST_SHARE = 1e-9  # of a document's attention, so that a token which gets none has a finite surprise


def no_received(mask: Tensor, heads: int, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    """Sums before anything was added: [B, H, 4, T]. mask: [B, T]; dtype: that of the weights."""
    wide = dtype if dtype == torch.float64 else torch.float32
    return torch.zeros(len(mask), heads, len(POOLINGS) * len(ROWS), mask.shape[1], dtype=wide, device=device)


def received(weights: Tensor, mask: Tensor, text: Tensor, causal: bool) -> Tensor:
    """Attention received by each token, [B, H, 4, T], from whole maps [B, H, T, T]; see `mean_received`."""
    sums = no_received(mask, weights.shape[1], weights.device, weights.dtype)
    add_received(sums, whole_tile(weights, tuple(mask.shape)), mask, text)
    return mean_received(sums, mask, text, causal)


def add_received(sums: Tensor, tile: Tile, mask: Tensor, text: Tensor) -> None:
    """Add the rows of a tile to the sums and maxima of columns, [B, H, 4, T]: of special rows, then of text rows.

    mask, text: [B, T] bool, all real tokens, and those that are not special.
    """
    tile.check(mask, sums)
    weights, some = tile.weights, tile.segments
    if weights.device.type == "cpu" and weights.dtype != torch.float64:
        from headatlas.statistics.kernels.received import add_received_cpu

        add_received_cpu(sums[some, tile.heads], weights, tile.row, tile.column, mask[some].sum(1), text[some])
    else:
        add_received_torch(sums, tile, mask, text)


def add_received_torch(sums: Tensor, tile: Tile, mask: Tensor, text: Tensor) -> None:
    """The same with tensor operations, for any device and dtype."""
    weights = tile.weights.to(sums.dtype).masked_fill(~mask[tile.segments, None, None, tile.columns], 0)
    added = sums[tile.segments, tile.heads, :, tile.columns]
    for form, rows in ((0, mask & ~text), (2, text)):
        counted = rows[tile.segments, None, tile.rows, None]
        of_rows = weights.masked_fill(~counted, 0)
        added[:, :, form] += of_rows.sum(2)
        added[:, :, form + 1] = added[:, :, form + 1].maximum(of_rows.amax(2))


def mean_received(sums: Tensor, mask: Tensor, text: Tensor, causal: bool) -> Tensor:
    """Attention received by each token: [B, H, 4, T], mean and max over all rows, then over text rows."""
    with one_thread():
        of_all = sums[:, :, 0] + sums[:, :, 2], sums[:, :, 1].maximum(sums[:, :, 3])
        forms = []
        for rows, (total, largest) in ((mask, of_all), (text, (sums[:, :, 2], sums[:, :, 3]))):
            from_token_on = rows.to(sums.dtype).flip(1).cumsum(1).flip(1)  # rows that see a token of a causal model
            count = from_token_on if causal else from_token_on[:, :1]
            forms += [total / count.clamp_min(1)[:, None], largest]
        return torch.stack(forms, 2)


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
