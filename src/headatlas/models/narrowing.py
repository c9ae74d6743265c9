"""A language model head run only where something is predicted.

A head maps each token's hidden state to the whole vocabulary, which for a small network costs as much as all its
layers. Where 15 % of the tokens are predicted, the rest of that is saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def logits_at(network: PreTrainedModel, inputs: Mapping[str, Any], chosen: Tensor) -> Tensor:
    """Logits of the chosen tokens in reading order: [N, V]. chosen: [B, T] bool, with any true.

    Networks whose head does not read the base network's output are run whole; the result is the same.
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
