"""Layers that run again on the way back, so that a differentiated pass keeps no more of each than what goes into it.

What a layer computes on its way takes about twelve times the memory of its input. Kept for all layers at once, it would
be most of what gradients of long inputs need. Computed again, it is there for one layer at a time, for the price of one
more forward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from torch import nn
from torch.utils.checkpoint import checkpoint

from headatlas.models.attention import is_changed
from headatlas.models.replay import instead_of_forward, outermost_listed


def recomputing(network: nn.Module, again: Callable[[], AbstractContextManager[Any]]) -> AbstractContextManager[None]:
    """Within this context what a network's layers compute is dropped, and computed again when gradients need it.

    Where heads are changed nothing is dropped, since who changes them counts the layers that attend.

    again: makes the context in which a layer runs again.
    """

    def run(_layer: nn.Module, forward: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        if is_changed():
            return forward(*arguments, **named)
        return checkpoint(
            partial(forward, **named),
            *arguments,
            use_reentrant=False,
            preserve_rng_state=False,  # nothing is random, since there is no dropout
            context_fn=lambda: (nullcontext(), again()),
        )

    return instead_of_forward(outermost_listed(network), run)
