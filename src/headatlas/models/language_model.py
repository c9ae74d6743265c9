"""The language model head: logits where something is predicted, and losses per segment.

A head maps each token's hidden state to the whole vocabulary, which for a small network costs as much as all its
layers. If 15 % of the tokens are predicted, `logits_at` saves the rest of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from headatlas.encoding.masking import IGNORED

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def logits_at(network: PreTrainedModel, inputs: Mapping[str, Any], chosen: Tensor) -> Tensor:
    """Logits of the chosen tokens in reading order: [N, V]. chosen: [B, T] bool, with any true.

    A network whose head does not read the base network's output is run as a whole; the result is the same.
    """

    def narrow(_module: nn.Module, _arguments: Any, outputs: Any) -> Any:
        if "last_hidden_state" not in outputs:
            return None
        outputs["last_hidden_state"] = outputs["last_hidden_state"][chosen][None]  # [1, N, D]
        return outputs

    hook = network.base_model.register_forward_hook(narrow)
    try:
        logits: Tensor = network(**inputs).logits
    finally:
        hook.remove()
    return logits[0] if logits.shape[:2] == (1, int(chosen.sum())) else logits[chosen]


def masked_lm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean loss over each segment's masked tokens, summed over segments.

    The gradient with respect to a segment's attention is then that of its own loss, whatever else is in the batch.
    logits: [B, T, V]; labels: [B, T], IGNORED elsewhere.
    """
    chosen = labels != IGNORED
    precise = torch.promote_types(logits.dtype, torch.float32)
    losses = cross_entropy(logits[chosen].to(precise), labels[chosen], reduction="none")  # [N]
    segment = torch.nonzero(chosen)[:, 0]  # [N]
    return (losses / chosen.sum(1)[segment]).sum()


def next_token_loss(logits: Tensor, input_ids: Tensor, mask: Tensor) -> Tensor:
    """Mean loss of predicting each next token of a segment, summed over segments. logits: [B, T, V]; mask: [B, T]."""
    labels = input_ids[:, 1:].masked_fill(~mask[:, 1:], IGNORED)
    return masked_lm_loss(logits[:, :-1], labels)
