"""Which attention a module computes: the encoder's, the decoder's, or from decoder to encoder (cross).

A model has one stack of heads (``encoder`` or ``decoder``), an encoder-decoder has three. In a stack, `8-10` is
layer 8, head 10, both from 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from headatlas.choices import Stack as Stack
from headatlas.errors import SettingError
from headatlas.wording import counted

if TYPE_CHECKING:
    from torch import Tensor, nn
    from transformers import PreTrainedModel

MOST_HEADS = 20_000  # in all layers: heads are compared in pairs, and a damaged file must not make us fill the memory
MOST_LAYERS = 2_000
_CROSS = re.compile(r"cross|enc_?dec|encoder_att", re.IGNORECASE)


@dataclass(frozen=True)
class HeadShape:
    """How many heads each layer of a stack has (pruned layers may have fewer)."""

    heads: tuple[int, ...]

    @property
    def layers(self) -> int:
        """Number of layers."""
        return len(self.heads)

    @property
    def most_heads(self) -> int:
        """Number of heads in the widest layer."""
        return max(self.heads)

    @property
    def total(self) -> int:
        """Number of heads in all layers."""
        return sum(self.heads)

    @property
    def first_heads(self) -> list[int]:
        """The number of each layer's first head, where all heads are numbered from 0."""
        return list(accumulate(self.heads[:-1], initial=0))

    @property
    def places(self) -> list[tuple[int, int]]:
        """Layer and head of every head in order, both from 0."""
        return [(layer, head) for layer, heads in enumerate(self.heads) for head in range(heads)]

    @property
    def numbered(self) -> list[tuple[int, int]]:
        """The same as in results, both from 1."""
        return [(layer + 1, head + 1) for layer, head in self.places]

    def __str__(self) -> str:
        if len(set(self.heads)) == 1:
            return f"{counted(self.layers, 'layer')} x {counted(self.heads[0], 'head')}"
        return f"{counted(self.layers, 'layer')}, {counted(self.total, 'head')}"


def parse_shape(heads: Any) -> HeadShape:
    """The shape from the numbers of heads in a file; ValueError if there are none, or more than any model has."""
    if not isinstance(heads, list) or not all(type(number) is int and number >= 0 for number in heads):
        raise ValueError("the numbers of heads are not one whole number per layer")
    if not 1 <= sum(heads) <= MOST_HEADS or len(heads) > MOST_LAYERS:
        count = f"{sum(heads):,} heads in {len(heads):,} layers"
        raise ValueError(f"the file claims {count}, which no model has")
    return HeadShape(tuple(heads))


def maps_in_outputs(outputs: Any, stack: Stack) -> tuple[Tensor, ...]:
    """The maps that a forward pass with output_attentions=True returned for a stack."""
    if hasattr(outputs, "attentions"):
        return outputs.attentions or ()
    return getattr(outputs, f"{stack}_attentions") or ()


def states_in_outputs(outputs: Any, stack: Stack) -> tuple[Tensor, ...]:
    """The hidden states that a forward pass with output_hidden_states=True returned for a stack."""
    if getattr(outputs, "hidden_states", None) is not None:
        return tuple(outputs.hidden_states)
    return tuple(getattr(outputs, f"{stack}_hidden_states", None) or ())


class StackNames:
    """The stack of each attention module of one network."""

    def __init__(self, network: PreTrainedModel, only: Stack | None) -> None:
        self._only = only
        self._names = {id(module): name for name, module in network.named_modules()}
        self._in_encoder: set[int] = set()
        if only is None:
            encoder: nn.Module = network.get_encoder()
            self._in_encoder = {id(module) for module in encoder.modules()}

    def __call__(self, module: nn.Module) -> Stack:
        """The stack a module belongs to."""
        if self._only is not None:
            return self._only
        if id(module) in self._in_encoder:
            return "encoder"
        return "cross" if _CROSS.search(self._names[id(module)].removeprefix("decoder")) else "decoder"


def parse_head(name: str) -> tuple[int, int]:
    """Return the layer and head of a name.

    >>> parse_head("8-10")
    (8, 10)
    """
    match = re.fullmatch(r"([0-9]{1,6})-([0-9]{1,6})", name.strip())
    if match is None:
        raise SettingError(f"'{name}' is not a valid head. Write layer-head, both from 1, for example 8-10.")
    return int(match[1]), int(match[2])


def check_head(layer: int, head: int, shape: HeadShape, model: str) -> None:
    """Refuse a head that the model does not have, and name those that it has."""
    if not 1 <= layer <= shape.layers:
        has = f"{model} has {shape}"
    elif not 1 <= head <= shape.heads[layer - 1]:
        has = f"{model} has {shape}" if len(set(shape.heads)) == 1 else f"that layer has {shape.heads[layer - 1]} heads"
    else:
        return
    raise SettingError(f"There is no head {layer}-{head}: {has}: 1-1 to {shape.layers}-{shape.heads[-1]}.")


def parse_heads(names: Sequence[str], shape: HeadShape, model: str) -> list[tuple[int, int]]:
    """Return layer and head, both from 1, of names such as 8-10; refuse heads that the model does not have."""
    heads = [parse_head(name) for name in names]
    for layer, head in heads:
        check_head(layer, head, shape, model)
    return heads
