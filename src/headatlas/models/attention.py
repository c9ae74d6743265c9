"""How attention is observed: through the eager function of the model's own file.

A model file of transformers defines `eager_attention_forward`, which returns the weights, and calls it if the
implementation is named "eager". While a network is observed, a function of ours replaces it in that file. It calls the
original, hands over the weights layer by layer and drops them, so that a forward pass holds one layer's maps at a time
instead of all. Each head's output can be changed on its way, which is how heads are gated, and so can the mask before
the softmax, which is how attention between tokens is cut (see `gates.py`).

Attention may be observed as whole maps, or in tiles, blocks of rows that go to sinks while they are computed, so that
no map exists as a whole (see `tiled.py`). A pass that is run for its attention alone may end with the last layer that
attends, since nobody asked for what follows.

The network keeps the name "eager" because model files ask for it: DeepSeek-V3.2 and its relatives, for example, apply
their sparse mask only under the names "eager" and "sdpa". Nothing stays behind in transformers afterwards. Other
threads call the replacement too while it is there, but they observe nothing, so they get what the original returns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from headatlas.models.feed_forward import feed_forward_in_blocks
from headatlas.models.masks import EAGER as EAGER
from headatlas.models.masks import interval_masks
from headatlas.models.replacing import Place, replacing
from headatlas.models.replay import instead_of_forward, outermost_listed
from headatlas.models.tiled import Call, DroppedTiles, LayerSink, TiledAttention

_FUNCTION = "eager_attention_forward"  # some files have several: text_..., vision_...

T = TypeVar("T")
_See = Callable[[nn.Module, Tensor, Tensor | None], None]
_Change = Callable[[nn.Module, Tensor], Tensor]
_OpenSink = Callable[[nn.Module, Tensor], LayerSink]
_Attend = Callable[[Tensor | None], tuple[Tensor, Tensor]]
_Cut = Callable[[nn.Module, Tensor, Tensor | None, _Attend], tuple[Tensor, Tensor]]
_Answer = Callable[[nn.Module], Tensor | None]
_IsLast = Callable[[nn.Module], bool]
_observer: ContextVar[_See | None] = ContextVar("headatlas_observer", default=None)
_changer: ContextVar[_Change | None] = ContextVar("headatlas_changer", default=None)
_cutter: ContextVar[_Cut | None] = ContextVar("headatlas_cutter", default=None)
_answerer: ContextVar[_Answer | None] = ContextVar("headatlas_answerer", default=None)
_is_last: ContextVar[_IsLast | None] = ContextVar("headatlas_is_last", default=None)
_tiler: ContextVar[tuple[TiledAttention, _OpenSink] | None] = ContextVar("headatlas_tiler", default=None)


def observing(network: nn.Module, see: _See) -> AbstractContextManager[None]:
    """Within this context every layer of a network that attends by its file's eager function calls `see`.

    `see` gets the attention module, its weights [B, H, Q, K] and its additive mask [B or 1, 1, Q, K] or None.
    """
    return _set_within(_observer, see, network)


@contextmanager
def tiling(network: nn.Module, open_sink: _OpenSink, rows: int | None = None) -> Iterator[None]:
    """Within this context those layers attend in tiles, and what follows attention runs in blocks of tokens.

    open_sink: gets an attention module and its queries [B, H, Q, D], and returns what takes the tiles of this call.
    rows: the most rows of a tile, by default as many as are fast.
    """
    attend = TiledAttention(rows), open_sink
    with interval_masks(), feed_forward_in_blocks(network), _set_within(_tiler, attend, network):
        yield


def recomputing(network: nn.Module, lengths: Sequence[int]) -> AbstractContextManager[None]:
    """Within this context what layers compute in tiles is dropped, and computed again when gradients need it.

    What a layer computes takes about twelve times the memory of its input. Kept for all layers at once, it would be
    most of what gradients of long inputs need. Computed again, it is there for one layer at a time, for the price of
    one more forward pass. Where heads are changed nothing is dropped, since what changes them counts the layers.

    lengths: How many tokens of each input are real.
    """
    if _changer.get() or _cutter.get():
        return nullcontext()

    def run(_layer: nn.Module, forward: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        return checkpoint(
            partial(forward, **named),
            *arguments,
            use_reentrant=False,
            preserve_rng_state=False,  # nothing is random, since there is no dropout
            context_fn=lambda: (nullcontext(), tiling(network, lambda *_: DroppedTiles(lengths))),
        )

    return instead_of_forward(outermost_listed(network), run)


def changing(network: nn.Module, change: _Change) -> AbstractContextManager[None]:
    """Within this context `change` replaces the heads' outputs [B, Q, H, D] of each of those modules."""
    return _set_within(_changer, change, network)


def cutting(network: nn.Module, cut: _Cut) -> AbstractContextManager[None]:
    """Within this context `cut` attends in place of each of those modules.

    `cut` gets the module, its queries [B, H, Q, D], its mask, and the original function of a mask alone, which returns
    the heads' outputs and the weights.
    """
    return _set_within(_cutter, cut, network)


def answering(network: nn.Module, answer: _Answer) -> AbstractContextManager[None]:
    """Within this context a module for which `answer` knows the heads' outputs [B, Q, H, D] does not attend.

    The outputs are changed as if it had; it has no weights to observe.
    """
    return _set_within(_answerer, answer, network)


@contextmanager
def ending(network: nn.Module, is_last: _IsLast) -> Iterator[None]:
    """Within this context a pass ends, and the context with it, after the first attention module that is the last.

    What follows attention is three quarters of a layer's work in BERT: a pass without that of the last of twelve layers
    is 6 % shorter.
    """
    with suppress(_PassEndedError), _set_within(_is_last, is_last, network):
        yield


class _PassEndedError(Exception):
    """Ends a pass of which no more is asked."""


class _EagerAttention:
    """Attends as the original does, changes its heads' outputs and hands its weights to the observer."""

    def __init__(self, original: Callable[..., tuple[Tensor, Tensor]]) -> None:
        self.original = original

    def __call__(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        change, see, tiler, cut = _changer.get(), _observer.get(), _tiler.get(), _cutter.get()
        answer = _answerer.get()
        known = None if answer is None else answer(module)
        weights: Tensor | None = None
        if known is not None:
            output = known
        elif tiler is not None and cut is None:
            in_tiles, open_sink = tiler
            call = Call(self.original, module, query, key, value, attention_mask, kwargs)
            output = in_tiles(call, open_sink(module, query))
        else:
            attend = partial(self.original, module, query, key, value, **kwargs)
            output, weights = attend(attention_mask) if cut is None else cut(module, query, attention_mask, attend)
        if change is not None:
            output = change(module, output)
        if see is not None and weights is not None:
            see(module, weights, attention_mask)
            weights = None
        is_last = _is_last.get()
        if is_last is not None and is_last(module):
            raise _PassEndedError
        return output, weights


def _set_within(variable: ContextVar[T | None], value: T, network: nn.Module) -> AbstractContextManager[None]:
    """Set the variable and replace the eager functions in all files that a network's classes come from."""
    return replacing(_eager_functions(network), _attending, variable, value)


def _attending(function: Callable[..., tuple[Tensor, Tensor]]) -> _EagerAttention:
    """What replaces an eager function; a file that was first imported within a context has the replacement already."""
    return function if isinstance(function, _EagerAttention) else _EagerAttention(function)


def _eager_functions(network: nn.Module) -> list[Place]:
    """The files of a network's classes and their bases, with the names of their eager functions."""
    names = {base.__module__ for kind in {type(module) for module in network.modules()} for base in kind.__mro__}
    files = [sys.modules[name] for name in names if name in sys.modules]
    return [(file, name) for file in files for name in vars(file) if name.endswith(_FUNCTION)]


def keep_masks_finite(module: nn.Module) -> None:
    """Keep an attention module's float64 masks within float32's range.

    Many models compute their softmax in float32 whatever their dtype. There float64's smallest number is minus
    infinity, and a padding token outside every window, with nothing to attend to, would become NaN and spread.
    """
    if _clamp_masks not in module._forward_pre_hooks.values():
        module.register_forward_pre_hook(_clamp_masks, with_kwargs=True)


def _clamp_masks(_module: nn.Module, arguments: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return tuple(map(_clamped, arguments)), {name: _clamped(value) for name, value in named.items()}


def _clamped(value: Any) -> Any:
    """Clamp a mask, which is the only four-dimensional float64 argument of attention."""
    if isinstance(value, Tensor) and value.dtype == torch.float64 and value.ndim == 4:
        return value.clamp(min=torch.finfo(torch.float32).min)
    return value
