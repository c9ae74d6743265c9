"""OPT's attention where no head is left: its output is the output projection's bias alone.

OPT's own forward infers the number of tokens from the size of its projections, which is nothing then.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.opt.modeling_opt import OPTAttention, eager_attention_forward


class OPTAttentionWithoutHeads(OPTAttention):  # type: ignore[misc]
    """An OPT attention module with no heads; whoever observes it sees maps [B, 0, Q, K]."""

    def forward(
        self,
        hidden_states: Tensor,
        past_key_values: Any = None,
        attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend with no heads: [B, T, D]."""
        batch, tokens, _ = hidden_states.shape
        nothing = hidden_states.new_empty(batch, 0, tokens, self.head_dim)
        keys = values = nothing
        if past_key_values is not None:
            keys, values = past_key_values.update(nothing, nothing, self.layer_idx)
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager_attention_forward)
        output, weights = attend(self, nothing, keys, values, attention_mask, dropout=0.0, scaling=1.0, **kwargs)
        return self.out_proj(output.reshape(batch, tokens, 0)), weights
