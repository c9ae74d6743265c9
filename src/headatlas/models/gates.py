"""Gates on heads: one number per head that scales its output, between attention and the output projection.

A gate of 1 leaves a head as it is, a gate of 0 removes it (Michel et al. 2019). What a gate shuts off can be replaced,
for example by the head's mean output. Cuts are gates that shut a head for some pairs of tokens alone. Both act within a
`with` block (`Model.gated`, `Model.changing_outputs`); nothing stays behind in the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from headatlas.errors import ModelError, SettingError
from headatlas.models.stacks import HeadShape, check_head

ChangeOutput = Callable[[int, Tensor], Tensor]
"""Called with the layer (from 0) and its heads' outputs [B, Q, H, D]; returns their replacement."""

Instead = Callable[[int, Tensor], Tensor]
"""Called with the layer (from 0) and its heads' outputs [B, Q, H, D]; returns what a closed gate's output is replaced
by, of a shape that broadcasts to the outputs."""

Attend = Callable[[Tensor | None], tuple[Tensor, Tensor]]
"""Called with an additive mask [B or 1, H or 1, Q, K] or None; returns outputs [B, Q, H, D], weights [B, H, Q, K]."""

_CLOSED = -5e3  # masks are at most -1e4 where a key may not be seen; biases of positions are far above


class Gates:
    """Scales heads' outputs, as `Model.gated` does."""

    def __init__(self, gates: Tensor, instead: Instead | None, shape: HeadShape) -> None:
        if gates.ndim not in (2, 3) or gates.shape[-2:] != (shape.layers, shape.most_heads):
            raise SettingError(
                f"Gates of shape {list(gates.shape)} do not fit {shape}: "
                f"give [{shape.layers}, {shape.most_heads}], or [inputs, {shape.layers}, {shape.most_heads}]."
            )
        self._gates, self._instead = gates, instead
        per_layer = gates.detach().transpose(-1, -2).flatten(0, -2)  # [..., L]
        self._acts = [True] * shape.layers if gates.requires_grad else (per_layer != 1).any(0).tolist()

    @property
    def inputs(self) -> int | None:
        """How many inputs have gates of their own; None if all share them."""
        return len(self._gates) if self._gates.ndim == 3 else None

    def __call__(self, layer: int, output: Tensor) -> Tensor:
        """The layer's outputs, gated: [B, Q, H, D]."""
        if not self._acts[layer]:
            return output
        gate = self._of(layer, output.shape[2], output)[:, None, :, None]  # [B or 1, 1, H, 1]
        if self._instead is None:
            return output * gate
        return output * gate + self._instead(layer, output) * (1 - gate)

    def gated_maps(self, layer: int, weights: Tensor) -> Tensor:
        """The layer's maps times their gates, for probes that read attention: [B, H, Q, K]."""
        if not self._acts[layer]:
            return weights
        return weights * self._of(layer, weights.shape[1], weights)[..., None, None]

    def _of(self, layer: int, heads: int, like: Tensor) -> Tensor:
        """A layer's gates: [B or 1, H]."""
        gate = self._gates[..., layer, :heads].to(like.device, like.dtype)
        if gate.ndim == 2 and len(gate) != len(like):
            raise SettingError(f"There are gates for {len(gate)} inputs, but the batch has {len(like)}.")
        return gate if gate.ndim == 2 else gate[None]


class Cuts(Gates):
    """Keeps heads whose gate is 0 from attending from some tokens to others.

    These pairs are masked before the softmax, so a token's attention is divided among what it may still see (attention
    knockout, Geva et al. 2023). A token that may see nothing any more gets an output of 0 from the head.
    """

    def __init__(self, gates: Tensor, pairs: Tensor, shape: HeadShape) -> None:
        """gates: as for `Model.gated`. pairs: [Q, K] bool, true where a token may not attend to another."""
        super().__init__(gates, None, shape)
        self._pairs = pairs

    def __call__(self, layer: int, output: Tensor) -> Tensor:
        """Refuse to act on outputs, where it is too late."""
        raise TypeError("cuts act before the softmax: give them to Model.changing_outputs themselves")

    def attend(self, layer: int, query: Tensor, mask: Tensor | None, attend: Attend) -> tuple[Tensor, Tensor]:
        """Attend as the layer does, without the pairs. query: [B, H, Q, D]."""
        if not self._acts[layer]:
            return attend(mask)
        mask = query.new_zeros(1, 1, 1, 1) if mask is None else mask
        heads = self._of(layer, query.shape[1], query) == 0  # [B or 1, H]
        cut = heads[..., None, None] & self._pairs.to(query.device)  # [B or 1, H, Q, K]
        seen = (mask > _CLOSED) & ~cut
        blind = cut.any(-1, keepdim=True) & ~seen.any(-1, keepdim=True)  # [B, H, Q, 1]
        masked = cut & ~blind
        output, weights = attend(torch.where(masked, torch.finfo(mask.dtype).min, mask))
        if (weights * masked).any():
            raise ModelError("This architecture does not apply the mask it is given, so its attention cannot be cut.")
        return output.masked_fill(blind.transpose(1, 2), 0), weights.masked_fill(blind, 0)


def all_open(shape: HeadShape, device: torch.device) -> Tensor:
    """Gates that change nothing: [L, H] float32."""
    return torch.ones(shape.layers, shape.most_heads, device=device)


def gates_without(heads: Iterable[tuple[int, int]], shape: HeadShape, name: str, device: torch.device) -> Tensor:
    """Gates that remove the heads named by layer and head, both from 1: [L, H] float32."""
    gates = all_open(shape, device)
    for layer, head in heads:
        check_head(layer, head, shape, name)
        gates[layer - 1, head - 1] = 0
    return gates
