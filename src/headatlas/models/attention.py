"""One attention function for every model.

transformers lets a caller register an attention implementation by name. Ours computes what the model's own file
computes (its ``eager_attention_forward``), shows the weights to whoever listens, layer by layer, and lets them go:
a forward pass holds one layer's maps at a time instead of all. Each head's output can be changed on its way, which is
how heads are gated (see `gates.py`). With nobody listening and nothing changed it is the eager function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from headatlas.errors import ModelError

NAME = "headatlas"

Hear = Callable[[nn.Module, Tensor, Tensor | None], None]
"""Called with the attention module, its weights [B, H, Q, K] and its additive mask [B or 1, 1, Q, K] or None."""

Change = Callable[[nn.Module, Tensor], Tensor]
"""Called with the attention module and its heads' outputs [B, Q, H, D]; what it returns takes their place."""

_hearing: ContextVar[Hear | None] = ContextVar("headatlas_hearing", default=None)
_changing: ContextVar[Change | None] = ContextVar("headatlas_changing", default=None)


@contextmanager
def listening(hear: Hear) -> Iterator[None]:
    """Within this context every attention layer that runs under our name calls `hear`."""
    token = _hearing.set(hear)
    try:
        yield
    finally:
        _hearing.reset(token)


@contextmanager
def changing(change: Change) -> Iterator[None]:
    """Within this context the heads' outputs of every attention layer under our name go through `change`."""
    token = _changing.set(change)
    try:
        yield
    finally:
        _changing.reset(token)


def observed_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **kwargs: Any
) -> tuple[Tensor, Tensor | None]:
    """Attend as the model's own eager function does, change its heads' outputs, show the weights to the listener."""
    output, weights = _eager_of(type(module))(module, query, key, value, attention_mask, **kwargs)
    change = _changing.get()
    if change is not None:
        output = change(module, output)
    hear = _hearing.get()
    if hear is None:
        return output, weights
    hear(module, weights, attention_mask)
    return output, None


def _eager_of(attention_class: type) -> Callable[..., tuple[Tensor, Tensor]]:
    """The eager function of the file that defines an attention class or one of its bases."""
    for base in attention_class.__mro__:
        eager = getattr(sys.modules[base.__module__], "eager_attention_forward", None)
        if eager is not None:
            return eager  # type: ignore[no-any-return]
    raise ModelError(
        f"{attention_class.__name__} uses transformers' attention interface, but its file has no eager attention "
        "function, so its weights cannot be observed."
    )


def finite_mask(*arguments: Any, dtype: torch.dtype = torch.float32, **kwargs: Any) -> Tensor | None:
    """The eager additive mask, never below float32's range.

    Many models take their softmax in float32 whatever their dtype. There float64's least number is minus infinity,
    and a padding token outside every window, with nothing to attend to, would turn into NaN and spread.
    """
    mask: Tensor | None = eager_mask(*arguments, dtype=torch.float32 if dtype == torch.float64 else dtype, **kwargs)
    return mask


def register() -> None:
    """Make our implementation known to transformers.

    The mask function is registered under the same name: without it the mask would arrive as None, and models
    would attend to padding or lose causality without any error.
    """
    AttentionInterface.register(NAME, observed_attention)
    AttentionMaskInterface.register(NAME, finite_mask)
