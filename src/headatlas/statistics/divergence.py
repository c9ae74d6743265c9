"""How differently two heads attend: the Jensen-Shannon divergence of their rows, for all pairs of heads.

JS(p, q) = H((p + q)/2) - (H(p) + H(q))/2 in nats, between 0 (the same) and log 2 (nothing in common); its square root
is a metric. One segment at a time: of 144 heads and 128 tokens these are 169 million logarithms, so the CPU has a
kernel of its own, and tensor operations serve all other devices, and float64. In float32 a segment's sum is right to
1e-5 nats, so a mean over its rows is right to far less.

Rows are scaled to sum 1 first, which changes nothing but for models with a learned sink. A row whose whole mass went
to the sink has no distribution to compare: it adds nothing to any sum, and its mass of 0 says so.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headatlas.statistics.surface import widest

AT_ONCE = 1 << 24  # numbers in one tensor: 64 MB of float32


def divergence_sums(rows: Tensor, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
    """Sums over a segment's rows of every pair's divergence, [H, H], and the mass of each row, [H, Q].

    rows: [Q, H, K], all of them real. Of the sums only what lies above the diagonal is filled, the rest is 0. Both are
    float64 where the device has it. `smoothing` s replaces a by (1 - s) a + s / n (the paper's code uses 0.001); masses
    are those of the smoothed rows.
    """
    if rows.device.type == "cpu" and rows.dtype != torch.float64:
        from headatlas.statistics.kernels.divergence import divergence_sums_cpu

        return divergence_sums_cpu(rows, smoothing)
    return divergence_sums_torch(rows, smoothing)


def divergence_sums_torch(rows: Tensor, smoothing: float = 0.0, at_once: int = AT_ONCE) -> tuple[Tensor, Tensor]:
    """The same with tensor operations, for any device and dtype, at most some `at_once` numbers in one tensor."""
    wide, entropy = widest(rows.device), torch.special.entr
    if rows.dtype in (torch.float16, torch.bfloat16):
        rows = rows.float()
    tokens, heads, columns = rows.shape
    if smoothing:
        rows = (1 - smoothing) * rows + smoothing / columns
    mass = rows.sum(-1, dtype=wide)  # [Q, H]
    present = mass > 0
    p = rows * torch.where(present, 1 / mass, 0).to(rows.dtype)[..., None]
    sums = torch.zeros(heads, heads, dtype=wide, device=rows.device)
    step = max(1, at_once // (tokens * columns))
    for a in range(heads - 1):
        for first in range(a + 1, heads, step):
            b = slice(first, first + step)
            both = present[:, a, None] & present[:, b]
            terms = entropy((p[:, a, None] + p[:, b]) / 2) - (entropy(p[:, a, None]) + entropy(p[:, b])) / 2
            divergence = terms.sum(-1).clamp_min(0)  # [Q, step]
            sums[a, b] = (divergence * both).sum(0, dtype=wide)
    return sums, mass.T
