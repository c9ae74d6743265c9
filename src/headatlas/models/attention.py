"""How attention is observed: by listening to the eager function of the model's own file.

A model file of transformers defines `eager_attention_forward`, which returns the weights, and calls it where the
implementation is named "eager". While somebody listens, a function of ours stands in its place in that file. It calls
the original, shows the weights layer by layer and lets them go, so that a forward pass holds one layer's maps at a
time instead of all. Each head's output can be changed on its way, which is how heads are gated (see `gates.py`).

The network keeps the name "eager" because model files ask for it: DeepSeek-V3.2 and its relatives, for example, apply
their sparse mask only under the names "eager" and "sdpa". Nothing stays behind in transformers afterwards. Other
threads meet the stand-in while it is there, but nobody listens in them, so they get what the original returns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

EAGER = "eager"
_FUNCTION = "eager_attention_forward"  # some files have several: text_..., vision_...

Hear = Callable[[nn.Module, Tensor, Tensor | None], None]
"""Called with the attention module, its weights [B, H, Q, K] and its additive mask [B or 1, 1, Q, K] or None."""

Change = Callable[[nn.Module, Tensor], Tensor]
"""Called with the attention module and its heads' outputs [B, Q, H, D]; what it returns takes their place."""

_hearing: ContextVar[Hear | None] = ContextVar("headatlas_hearing", default=None)
_changing: ContextVar[Change | None] = ContextVar("headatlas_changing", default=None)
_placing = Lock()


@contextmanager
def listening(network: nn.Module, hear: Hear) -> Iterator[None]:
    """Within this context every layer of a network that attends by its file's eager function calls `hear`."""
    token = _hearing.set(hear)
    try:
        with _standing_in(network):
            yield
    finally:
        _hearing.reset(token)


@contextmanager
def changing(network: nn.Module, change: Change) -> Iterator[None]:
    """Within this context the heads' outputs of all those layers go through `change`."""
    token = _changing.set(change)
    try:
        with _standing_in(network):
            yield
    finally:
        _changing.reset(token)


class _StandIn:
    """Attends as the original does, changes its heads' outputs and shows the weights to the listener."""

    def __init__(self, original: Callable[..., tuple[Tensor, Tensor]]) -> None:
        self.original = original
        self.contexts = 0  # that need it, over all threads

    def __call__(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        output, weights = self.original(module, query, key, value, attention_mask, **kwargs)
        change, hear = _changing.get(), _hearing.get()
        if change is not None:
            output = change(module, output)
        if hear is None:
            return output, weights
        hear(module, weights, attention_mask)
        return output, None


@contextmanager
def _standing_in(network: nn.Module) -> Iterator[None]:
    """Within this context stand-ins take the place of the eager functions of all files that a network's classes,
    or their bases, come from.
    """
    with _placing:
        stand_ins = [(_stand_in(file, name), file, name) for file, name in _eager_functions(network)]
    try:
        yield
    finally:
        with _placing:
            for stand_in, file, name in stand_ins:
                stand_in.contexts -= 1
                if stand_in.contexts == 0 and getattr(file, name) is stand_in:
                    setattr(file, name, stand_in.original)


def _stand_in(file: ModuleType, name: str) -> _StandIn:
    """The stand-in for a file's function, counted once more; put in place if it is the first."""
    function = getattr(file, name)
    stand_in = function if isinstance(function, _StandIn) else _StandIn(function)
    stand_in.contexts += 1
    setattr(file, name, stand_in)
    return stand_in


def _eager_functions(network: nn.Module) -> list[tuple[ModuleType, str]]:
    """The files of a network's classes and their bases, with the names of their eager functions."""
    names = {base.__module__ for kind in {type(module) for module in network.modules()} for base in kind.__mro__}
    files = [sys.modules[name] for name in names if name in sys.modules]
    return [(file, name) for file in files for name in vars(file) if name.endswith(_FUNCTION)]


def keep_masks_finite(module: nn.Module) -> None:
    """Keep the float64 masks that an attention module gets within float32's range.

    Many models take their softmax in float32 whatever their dtype. There float64's least number is minus infinity,
    and a padding token outside every window, with nothing to attend to, would turn into NaN and spread.
    """
    if _clamp_masks not in module._forward_pre_hooks.values():
        module.register_forward_pre_hook(_clamp_masks, with_kwargs=True)


def _clamp_masks(_module: nn.Module, arguments: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return tuple(map(_clamped, arguments)), {name: _clamped(value) for name, value in named.items()}


def _clamped(value: Any) -> Any:
    """A mask is the only float64 argument of four dimensions that attention gets."""
    if isinstance(value, Tensor) and value.dtype == torch.float64 and value.ndim == 4:
        return value.clamp(min=torch.finfo(torch.float32).min)
    return value
