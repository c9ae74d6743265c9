"""Gates on heads: one number per head that scales its output, between attention and the output projection.

A gate of 1 leaves a head as it is, a gate of 0 removes it (Michel et al. 2019). What a gate shuts off can be replaced,
for example by the head's mean output. Gates act within a `with` block (`Model.gated`); nothing stays behind in the
network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from headatlas.errors import SettingError
from headatlas.models.heads import check_head
from headatlas.models.stacks import HeadShape

ChangeOutput = Callable[[int, Tensor], Tensor]
"""Called with the layer (from 0) and its heads' outputs [B, Q, H, D]; returns their replacement."""

Instead = Callable[[int, Tensor], Tensor]
"""Called with the layer (from 0) and its heads' outputs [B, Q, H, D]; returns what a closed gate's output is replaced
by, of a shape that broadcasts to the outputs."""


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
