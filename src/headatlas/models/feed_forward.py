"""What follows attention in a layer, in blocks of tokens.

A layer's feed-forward part treats each token by itself, so blocks of tokens give what the whole gives, but for
rounding. Inside it states are several times as wide as elsewhere: over a long input they take more memory than all
else, and in blocks they stay in the processor's cache.

A function is known to treat tokens one by one if transformers itself calls it in chunks, or if its code was read and is
the same word for word. All others run as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any

import torch
from torch import Tensor, nn

from headatlas.models.plain import code_digest
from headatlas.models.replacing import Place, replacing

TOKENS, MOST_TOKENS = 512, 4096  # of a block: for each thread, which takes the least time, and in all, or on a GPU
_CHUNKED = ("feed_forward_chunk", "ff_chunk")  # what transformers' apply_chunking_to_forward is called with
_TOKENWISE = {
    "9eb101c4fe0330b9",  # Llama, Mistral, Qwen, Gemma, ...
    "dfc5043de657a647",  # Phi, CLIP, ViT, ...
    "b0576bbd6b90e5a9",  # Phi 3, GLM, ...
    "74665ca17717fa28",  # Qwen 2.5 VL, ...
    "12ba6a0ab2850c45",  # Nemotron, Arcee, Apertus, ...
    "8c2727cc4c4ddb38",  # GPT-2, GPT-Neo
    "884d97f3316f798b",  # GPT-J
    "da4afea26ee0d96f",  # GPT-NeoX
    "102547a4f3c4f9dd",  # ModernBERT
    "8a6c47122105700f",  # T5
    "f7881270d0f86304",  # T5 with gates, mT5, ...
}

_in_blocks: ContextVar[bool] = ContextVar("headatlas_feed_forward_in_blocks", default=False)


def feed_forward_in_blocks(network: nn.Module) -> AbstractContextManager[None]:
    """Within this context a network's feed-forward parts run in blocks of tokens, if no gradients are wanted."""
    kinds: set[type] = {type(module) for module in network.modules()}
    places = dict.fromkeys(place for kind in kinds for place in _places(kind))
    return replacing(list(places), _blockwise, _in_blocks, True)


@cache
def _places(kind: type) -> tuple[Place, ...]:
    """The functions of a class, or of those that it derives from, that treat tokens one by one."""
    defined = {name: base for base in reversed(kind.__mro__) for name in vars(base) if name in (*_CHUNKED, "forward")}
    return tuple(
        (base, name)
        for name, base in defined.items()
        if name in _CHUNKED or code_digest(vars(base)[name]) in _TOKENWISE
    )


def _blockwise(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @wraps(function)
    def run(module: nn.Module, states: Tensor, *others: Any, **named: Any) -> Tensor:
        tokens = states.shape[:-1].numel()
        on_cpu = states.device.type == "cpu"
        block = min(TOKENS * torch.get_num_threads(), MOST_TOKENS) if on_cpu else MOST_TOKENS
        if not _in_blocks.get() or torch.is_grad_enabled() or others or named or tokens <= block:
            return function(module, states, *others, **named)
        blocks = torch.tensor_split(states.reshape(1, tokens, -1), list(range(block, tokens, block)), dim=1)
        return torch.cat([function(module, some) for some in blocks], dim=1).view(*states.shape[:-1], -1)

    return run
