"""The sums behind every surface study, from one pass over each attention map.

A small model's maps hold so much data that a second pass over them, or torch's logarithm of each, would cost
more than a tenth of the forward pass. So one fused pass takes all sums at once: a numba kernel on the CPU, tensor
operations elsewhere. Both give, for each segment and head, sums over the segment's real rows and columns.
"""

from __future__ import annotations

from enum import IntEnum

import torch
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import TokenKind


class Sum(IntEnum):
    """What each column of `surface_sums` holds: a sum over the rows i of a segment."""

    PREVIOUS = 0  # a[i, i-1]
    CURRENT = 1  # a[i, i]
    NEXT = 2  # a[i, i+1]
    TO_CLS = 3  # a[i, j] over all [CLS] j
    TO_SEP = 4
    TO_PERIOD_COMMA = 5
    TOTAL = 6  # a[i, j] over all j: the number of rows, where each sums to 1
    SEP_TO_SEP = 7  # a[i, j], i and j both [SEP]
    ENTROPY = 8  # nats
    CLS_ENTROPY = 9  # nats, over the [CLS] rows
    MAXIMUM = 10  # max over j of a[i, j]
    TO_FIRST = 11  # a[i, 0]
    HIGHEST = 12  # the largest a[i, j] of all, not a sum


def widest(device: torch.device) -> torch.dtype:
    """The type to sum in: float64, but for Apple's MPS, which has none."""
    return torch.float32 if device.type == "mps" else torch.float64


def uniform_map(batch: Batch, causal: bool) -> Tensor:
    """Uniform attention to all tokens in reach (in a causal model, those up to a row's own place): [B, 1, T, T]."""
    reach = batch.mask[:, None, :, None] & batch.mask[:, None, None, :]
    reach = reach.tril() if causal else reach
    return reach / reach.sum(-1, keepdim=True).clamp_min(1)


def surface_sums(weights: Tensor, batch: Batch, smoothing: float = 0.0) -> Tensor:
    """All sums of one layer: [B, H, len(Sum)], float64 where the device has it.

    weights: [B, H, Q, K]. Entropy is that of the row scaled to sum 1, with 0 log 0 = 0; a row whose mass went to
    a learned sink altogether has entropy 0. `smoothing` s replaces a by (1 - s) a + s / n before the entropy alone
    (the paper's code uses 0.0001).
    """
    if weights.device.type == "cpu" and weights.dtype != torch.float64:
        from headatlas.statistics.kernels.surface import surface_sums_cpu

        return surface_sums_cpu(weights, batch.lengths, batch.kinds, smoothing)
    return surface_sums_torch(weights, batch.mask, batch.kinds, smoothing)


def surface_sums_torch(weights: Tensor, mask: Tensor, kinds: Tensor, smoothing: float = 0.0) -> Tensor:
    """The same with tensor operations, for any device and dtype."""
    wide = widest(weights.device)
    if weights.dtype in (torch.float16, torch.bfloat16):
        weights = weights.float()
    real = mask[:, None, :, None] & mask[:, None, None, :]  # [B, 1, Q, K]
    weights = weights.masked_fill(~real, 0)
    columns = torch.stack(
        [kinds == kind for kind in (TokenKind.CLS, TokenKind.SEP, TokenKind.PERIOD_COMMA)], -1
    )  # [B, K, 3]
    to_kind = weights @ columns[:, None].to(weights.dtype)  # [B, H, Q, 3]
    row_sums = weights.sum(-1)  # [B, H, Q]
    row_max = weights.amax(-1)  # [B, H, Q]
    entropy = _row_entropy(weights, row_sums, real, mask.sum(1), smoothing)
    cls_rows, sep_rows = ((kinds == kind)[:, None] for kind in (TokenKind.CLS, TokenKind.SEP))  # [B, 1, Q]
    by_column = {
        Sum.PREVIOUS: weights.diagonal(-1, -2, -1),
        Sum.CURRENT: weights.diagonal(0, -2, -1),
        Sum.NEXT: weights.diagonal(1, -2, -1),
        Sum.TO_CLS: to_kind[..., 0],
        Sum.TO_SEP: to_kind[..., 1],
        Sum.TO_PERIOD_COMMA: to_kind[..., 2],
        Sum.TOTAL: row_sums,
        Sum.SEP_TO_SEP: to_kind[..., 1] * sep_rows,
        Sum.ENTROPY: entropy,
        Sum.CLS_ENTROPY: entropy * cls_rows,
        Sum.MAXIMUM: row_max,
        Sum.TO_FIRST: weights[..., 0],
    }
    sums = [by_column[name].sum(-1, dtype=wide) for name in Sum if name is not Sum.HIGHEST]
    return torch.stack([*sums, row_max.amax(-1).to(wide)], -1)


def _row_entropy(weights: Tensor, row_sums: Tensor, real: Tensor, lengths: Tensor, smoothing: float) -> Tensor:
    """Entropy in nats of each row scaled to sum 1: log S - (sum of p log p) / S. [B, H, Q]"""
    if smoothing:
        even = (smoothing / lengths)[:, None, None, None].to(weights.dtype)
        weights = ((1 - smoothing) * weights + even).masked_fill(~real, 0)
        row_sums = weights.sum(-1)
    scale = row_sums.clamp_min(torch.finfo(row_sums.dtype).tiny)
    entropy: Tensor = scale.log() + torch.special.entr(weights).sum(-1) / scale
    return entropy.masked_fill(row_sums == 0, 0)
