"""Run a network again from one of its layers on, with all layers below answered from a recorded pass.

Removing a head of layer l changes nothing below layer l, nor what the other heads of layer l put out. So a pass is
recorded once, with the output of each layer and of its heads. A replay runs the network as it is, but

- the layers below l return their recorded output at no cost;
- layer l does not attend, unless its attention is cut: its heads' outputs are the recorded ones, and what would be
  multiplied to attend is not;
- the last layer multiplies only at the tokens that are read after it, if the caller names them.

A network's layers are the outermost modules in module lists, whatever their names; a shared layer (ALBERT) may run many
times. No architecture is known by name, so callers check first that a replay gives the same result as a full pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

from headatlas.models.gates import Cuts

if TYPE_CHECKING:
    from transformers.pytorch_utils import Conv1D

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
        self._of_heads: list[Tensor] = []  # of each layer of the stack, [B, Q, H, D]
        self._starts: list[int] = []  # the call in which each layer of the stack attends
        self.shortcuts = True  # whether a replay omits what is not needed in its first and in the last layer

    def record(self, run: Callable[[], R]) -> R:
        """Run once and record what every layer returns, replacing the previous recording."""
        self._outputs, self._of_heads, self._starts = [], [], []

        def keep(_module: nn.Module, forward: _Forward, *arguments: Any, **named: Any) -> Any:
            call = len(self._outputs)
            self._outputs.append(None)
            self._outputs[call] = forward(*arguments, **named)
            return self._outputs[call]

        def note(_layer: int, output: Tensor) -> Tensor:
            self._starts.append(len(self._outputs) - 1)
            self._of_heads.append(output)
            return output

        with instead_of_forward(self._layers, keep), self._model.changing_outputs(note, self._stack):
            return run()

    def replay(
        self, layer: int, run: Callable[[], R], change: ChangeOutput, copies: int = 1, read: Tensor | None = None
    ) -> R:
        """Run the recorded pass from a layer (from 0) on, changing heads' outputs.

        Args:
            layer: The first layer whose heads are changed.
            run: Runs the network on the copies.
            change: Changes the heads' outputs of all layers from there on.
            copies: How many copies of the recorded batch, one after the other, make the batch of this run.
            read: Whose states `run` reads after the last layer, [B, T] bool; None means all tokens.

        Returns:
            What `run` returns.
        """
        start, last = self._starts[layer], self._starts[-1]
        # a layer with cross attention attends to itself first, for which it needs its matrices
        cuts = change if isinstance(change, Cuts) else None
        answers_heads = self.shortcuts and self._starts.count(start) == 1 and self._stack != "cross" and cuts is None
        if not self.shortcuts or (read is not None and read.all()):
            read = None  # nothing is left out in the last layer
        call, attended = -1, False

        def answer(module: nn.Module, forward: _Forward, *arguments: Any, **named: Any) -> Any:
            nonlocal call, attended
            call, attended = call + 1, False
            if call < start:
                return _repeated(self._outputs[call], copies)
            if (answers_heads and call == start) or (read is not None and call == last):
                with instead_of_forward(token_matrices(module), multiply):
                    return forward(*arguments, **named)
            return forward(*arguments, **named)

        def multiply(matrix: nn.Linear | Conv1D, forward: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
            if not attended and answers_heads and call == start:
                return inputs.new_full((), math.nan).expand(*inputs.shape[:-1], _width(matrix))
            if attended and read is not None and call == last and inputs.shape[:-1] == read.shape:
                return _only_at(read, forward, inputs)
            return forward(inputs)

        def changed(place: int, output: Tensor) -> Tensor:
            nonlocal attended
            attended = True
            return output if cuts else change(place, output)

        def known(place: int) -> Tensor | None:
            return _repeated(self._of_heads[place], copies) if answers_heads and place == layer else None

        first = self._starts.index(start)
        with (
            instead_of_forward(self._layers, answer),
            self._model.changing_outputs(changed, self._stack, first_layer=first, known=known),
            self._model.changing_outputs(cuts, self._stack, first_layer=first) if cuts else nullcontext(),
        ):
            return run()

    @property
    def complete(self) -> bool:
        """Whether the recorded pass ran every layer of the stack within a layer that can be replayed."""
        return len(self._starts) == self._model.shapes[self._stack].layers and min(self._starts) >= 0

    def forget(self) -> None:
        """Drop the recording."""
        self._outputs, self._of_heads = [], []


def outermost_listed(network: nn.Module) -> list[nn.Module]:
    """Modules in a ModuleList that is not inside another: a transformer's layers."""
    modules: list[nn.Module] = []
    for child in network.children():
        modules += list(child) if isinstance(child, nn.ModuleList) else outermost_listed(child)
    return list(dict.fromkeys(modules))


def token_matrices(module: nn.Module) -> list[nn.Linear | Conv1D]:
    """The matrices of a layer by which its tokens are multiplied one by one."""
    from transformers.pytorch_utils import Conv1D

    return [part for part in module.modules() if isinstance(part, nn.Linear | Conv1D)]


def _width(matrix: nn.Linear | Conv1D) -> int:
    """How many numbers a matrix gives for each token."""
    return int(matrix.out_features if isinstance(matrix, nn.Linear) else matrix.nf)


def _only_at(read: Tensor, forward: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
    """A matrix's outputs at the tokens that are read, and zeros at the others."""
    places = read.flatten().nonzero()[:, 0]
    outputs = forward(inputs.flatten(0, -2)[places])
    everywhere = outputs.new_zeros(read.numel(), outputs.shape[-1])
    return everywhere.index_copy_(0, places, outputs).view(*read.shape, -1)


@contextmanager
def instead_of_forward(modules: Sequence[nn.Module], act: Callable[..., Any]) -> Iterator[None]:
    """Within this context `act` replaces each module's forward; it gets the module and its forward first."""
    replaced = [module.__dict__.get("forward") for module in modules]
    for module in modules:
        module.__dict__["forward"] = partial(act, module, module.forward)
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
