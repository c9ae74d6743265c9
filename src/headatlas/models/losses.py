"""Language model losses, a segment at a time: a segment's loss does not depend on its batch.

Both return the sum over the batch of each segment's mean loss, so that the gradient with respect to a segment's
attention is that of its own loss, whatever else is in the batch.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from headatlas.encoding.masking import IGNORED


def masked_lm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean loss over each segment's masked tokens, summed. logits: [B, T, V]; labels: [B, T], IGNORED elsewhere."""
    chosen = labels != IGNORED
    precise = torch.promote_types(logits.dtype, torch.float32)
    losses = cross_entropy(logits[chosen].to(precise), labels[chosen], reduction="none")  # [N]
    segment = torch.nonzero(chosen)[:, 0]  # [N]
    return (losses / chosen.sum(1)[segment]).sum()


def next_token_loss(logits: Tensor, input_ids: Tensor, mask: Tensor) -> Tensor:
    """Mean loss of predicting each next token of a segment, summed. logits: [B, T, V]; mask: [B, T]."""
    labels = input_ids[:, 1:].masked_fill(~mask[:, 1:], IGNORED)
    return masked_lm_loss(logits[:, :-1], labels)
