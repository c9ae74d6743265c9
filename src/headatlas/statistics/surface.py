"""The sums behind every surface study, from one pass over each attention map.

A small model's maps hold so much data that a second pass over them, or torch's logarithm of each, would cost
more than a tenth of the forward pass. So one fused pass takes all sums at once: a numba kernel on the CPU, tensor
operations elsewhere. Both add, for each segment and head, the real rows and columns of a tile to sums.
"""

from __future__ import annotations

from enum import IntEnum

import torch
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import TokenKind
from headatlas.models.tiles import Tile, whole_tile


class Sum(IntEnum):
    """What each column of the sums holds: a sum over the rows i of a segment."""

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


_NEIGHBOURS = (Sum.PREVIOUS, Sum.CURRENT, Sum.NEXT)


def widest(device: torch.device) -> torch.dtype:
    """The type to sum in: float64, but for Apple's MPS, which has none."""
    return torch.float32 if device.type == "mps" else torch.float64


def uniform_map(batch: Batch, causal: bool) -> Tensor:
    """Uniform attention to all tokens in reach (in a causal model, those up to a row's own place): [B, 1, T, T]."""
    reach = batch.mask[:, None, :, None] & batch.mask[:, None, None, :]
    reach = reach.tril() if causal else reach
    return reach / reach.sum(-1, keepdim=True).clamp_min(1)


def no_surface(batch: Batch, heads: int, device: torch.device) -> Tensor:
    """Sums before anything was added: [B, H, len(Sum)], float64 where the device has it."""
    return torch.zeros(len(batch.segments), heads, len(Sum), dtype=widest(device), device=device)


def surface_sums(weights: Tensor, batch: Batch, smoothing: float = 0.0) -> Tensor:
    """All sums of one layer's whole maps, [B, H, T, T]; see `add_surface`."""
    sums = no_surface(batch, weights.shape[1], weights.device)
    add_surface(sums, whole_tile(weights, tuple(batch.mask.shape)), batch, smoothing)
    return sums


def add_surface(sums: Tensor, tile: Tile, batch: Batch, smoothing: float = 0.0) -> None:
    """Add the rows of a tile to the sums of one layer, [B, H, len(Sum)].

    Entropy is that of the row scaled to sum 1, with 0 log 0 = 0; a row whose mass went to a learned sink altogether has
    entropy 0. `smoothing` s replaces a by (1 - s) a + s / n before the entropy alone (the paper's code uses 0.0001).
    """
    tile.check(batch.mask, sums)
    weights, some = tile.weights, tile.segments
    if weights.device.type == "cpu" and weights.dtype != torch.float64:
        from headatlas.statistics.kernels.surface import add_surface_cpu

        lengths, kinds = batch.lengths[some], batch.kinds[some]
        add_surface_cpu(sums[some, tile.heads], weights, tile.row, tile.column, lengths, kinds, smoothing)
    else:
        add_surface_torch(sums, tile, batch, smoothing)


def add_surface_of_scores(
    tile: Tile, start: Tensor, end: Tensor, scale: float, batch: Batch, sums: Tensor | None = None
) -> None:
    """Replace the scores of a tile by their softmax within what each row sees, and add its rows to the sums.

    tile: contiguous float32 on the CPU. start, end: [S, R], the places of the columns that each row sees; all others
    become 0.
    """
    from headatlas.statistics.kernels.softmax import softmax_cpu

    sums = no_surface(batch, tile.heads.stop, tile.weights.device) if sums is None else sums
    tile.check(batch.mask, sums)
    softmax_cpu(tile, start, end, scale, batch.lengths, batch.kinds, sums)


def add_surface_torch(sums: Tensor, tile: Tile, batch: Batch, smoothing: float = 0.0) -> None:
    """The same with tensor operations, for any device and dtype."""
    weights, device = tile.weights, tile.weights.device
    if weights.dtype in (torch.float16, torch.bfloat16):
        weights = weights.float()
    mask, kinds = batch.mask[tile.segments], batch.kinds[tile.segments]
    real = mask[:, None, tile.rows, None] & mask[:, None, None, tile.columns]  # [S, 1, R, C]
    weights = weights.masked_fill(~real, 0)
    columns = torch.stack(
        [kinds[:, tile.columns] == kind for kind in (TokenKind.CLS, TokenKind.SEP, TokenKind.PERIOD_COMMA)], -1
    )  # [S, C, 3]
    to_kind = weights @ columns[:, None].to(weights.dtype)  # [S, H, R, 3]
    row_sums = weights.sum(-1)  # [S, H, R]
    row_max = weights.amax(-1)  # [S, H, R]
    rows = mask[:, None, tile.rows]  # [S, 1, R]
    entropy = _row_entropy(weights, row_sums, real, mask.sum(1), smoothing).masked_fill(~rows, 0)
    cls_rows, sep_rows = ((kinds[:, tile.rows] == kind)[:, None] for kind in (TokenKind.CLS, TokenKind.SEP))
    own = torch.arange(tile.rows.start, tile.rows.stop, device=device) - tile.column
    by_column = {
        **{place: _at(weights, own + offset) for place, offset in zip(_NEIGHBOURS, (-1, 0, 1), strict=True)},
        Sum.TO_CLS: to_kind[..., 0],
        Sum.TO_SEP: to_kind[..., 1],
        Sum.TO_PERIOD_COMMA: to_kind[..., 2],
        Sum.TOTAL: row_sums,
        Sum.SEP_TO_SEP: to_kind[..., 1] * sep_rows,
        Sum.ENTROPY: entropy,
        Sum.CLS_ENTROPY: entropy * cls_rows,
        Sum.MAXIMUM: row_max,
        Sum.TO_FIRST: _at(weights, torch.full_like(own, -tile.column)),
    }
    added = sums[tile.segments, tile.heads]
    for name, values in by_column.items():
        added[..., name] += values.sum(-1, dtype=sums.dtype)
    added[..., Sum.HIGHEST] = added[..., Sum.HIGHEST].maximum(row_max.amax(-1).to(sums.dtype))


def _at(weights: Tensor, places: Tensor) -> Tensor:
    """One column of each row, 0 where it lies outside. weights: [S, H, R, C]; places: [R] -> [S, H, R]"""
    inside = (places >= 0) & (places < weights.shape[-1])
    chosen = torch.where(inside, places, 0)[:, None].expand(*weights.shape[:-1], 1)
    return weights.gather(-1, chosen)[..., 0] * inside


def _row_entropy(weights: Tensor, row_sums: Tensor, real: Tensor, lengths: Tensor, smoothing: float) -> Tensor:
    """Entropy in nats of each row scaled to sum 1: log S - (sum of p log p) / S. [S, H, R]"""
    entropies: Tensor = torch.special.entr(weights).sum(-1)
    if smoothing:
        even = (smoothing / lengths)[:, None, None].to(weights.dtype)
        entropies = torch.special.entr((1 - smoothing) * weights + even[..., None]).masked_fill(~real, 0).sum(-1)
        outside = lengths[:, None, None] - real.sum(-1)  # real columns that the tile leaves out
        entropies = entropies + outside * torch.special.entr(even)
        row_sums = (1 - smoothing) * row_sums + smoothing
    scale = row_sums.clamp_min(torch.finfo(row_sums.dtype).tiny)
    return (scale.log() + entropies / scale).masked_fill(row_sums == 0, 0)
