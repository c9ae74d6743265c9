"""Run a network again from one of its layers on, with all layers below answered from a recorded pass.

Removing a head of layer l changes nothing below layer l. So a pass is recorded once, with the output of each layer; a
replay runs the network as it is, but the layers below l return their recorded output at no cost. A network's layers are
the outermost modules in module lists, whatever their names; a shared layer (ALBERT) may run many times. No architecture
is known by name, so callers check first that a replay gives the same result as a full pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from headatlas.models.gates import ChangeOutput
    from headatlas.models.model import Model
    from headatlas.models.stacks import Stack

R = TypeVar("R")
_Forward = Callable[..., Any]


class LayerReplay:
    """Records passes of a model and replays them from the layers of one stack."""

    def __init__(self, model: Model, stack: Stack | None = None) -> None:
        self._model, self._stack = model, stack or model.default_stack
        self._layers = outermost_listed(model.network)
        self._outputs: list[Any] = []  # of each call of a layer, in order
        self._starts: list[int] = []  # the call in which each layer of the stack attends

    def record(self, run: Callable[[], R]) -> R:
        """Run once and record what every layer returns, replacing the previous recording."""
        self._outputs, self._starts = [], []

        def keep(forward: _Forward, *arguments: Any, **named: Any) -> Any:
            call = len(self._outputs)
            self._outputs.append(None)
            self._outputs[call] = forward(*arguments, **named)
            return self._outputs[call]

        def note(_layer: int, output: Tensor) -> Tensor:
            self._starts.append(len(self._outputs) - 1)
            return output

        with instead_of_forward(self._layers, keep), self._model.changing_outputs(note, self._stack):
            return run()

    def replay(self, layer: int, run: Callable[[], R], change: ChangeOutput, copies: int = 1) -> R:
        """Run the recorded pass from a layer (from 0) on, changing heads' outputs.

        copies: how many copies of the recorded batch, one after the other, make the batch of this run.
        """
        start = self._starts[layer]
        call = 0

        def answer(forward: _Forward, *arguments: Any, **named: Any) -> Any:
            nonlocal call
            call += 1
            return forward(*arguments, **named) if call > start else _repeated(self._outputs[call - 1], copies)

        first = self._starts.index(start)
        with (
            instead_of_forward(self._layers, answer),
            self._model.changing_outputs(change, self._stack, first_layer=first),
        ):
            return run()

    @property
    def complete(self) -> bool:
        """Whether the recorded pass ran every layer of the stack within a layer that can be replayed."""
        return len(self._starts) == self._model.shapes[self._stack].layers and min(self._starts) >= 0

    def forget(self) -> None:
        """Drop the recording."""
        self._outputs = []


def outermost_listed(network: nn.Module) -> list[nn.Module]:
    """Modules in a ModuleList that is not inside another: a transformer's layers."""
    modules: list[nn.Module] = []
    for child in network.children():
        modules += list(child) if isinstance(child, nn.ModuleList) else outermost_listed(child)
    return list(dict.fromkeys(modules))


@contextmanager
def instead_of_forward(modules: list[nn.Module], act: Callable[..., Any]) -> Iterator[None]:
    """Within this context `act` replaces each module's forward, which it gets as first argument."""
    replaced = [module.__dict__.get("forward") for module in modules]
    for module in modules:
        module.__dict__["forward"] = partial(act, module.forward)
    try:
        yield
    finally:
        for module, forward in zip(modules, replaced, strict=True):
            if forward is None:
                del module.__dict__["forward"]
            else:
                module.__dict__["forward"] = forward


def _repeated(output: Any, copies: int) -> Any:
    """A layer's output for several copies of its batch; parts shared by all inputs (T5's bias) stay as they are."""
    if copies == 1:
        return output
    if isinstance(output, Tensor):
        return torch.cat([output] * copies)
    rows = len(output[0])
    return tuple(
        torch.cat([part] * copies) if isinstance(part, Tensor) and len(part) == rows else part for part in output
    )
