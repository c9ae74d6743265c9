"""How much memory a forward pass takes at most: the weights, and the tensors that are alive at once on the way.

On CUDA the allocator's own peak is read (`torch.cuda.max_memory_allocated`). Elsewhere every tensor that an operation
returns is counted from its birth to its end. Either way what was there before the pass does not count, so two networks
can be compared in one process, and the figure is the same each time.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from transformers import PreTrainedModel

HOW = {"cuda": "torch.cuda.max_memory_allocated"}
COUNTED = "bytes of live tensors"


def weight_bytes(modules: Sequence[nn.Module]) -> int:
    """Bytes of the parameters, those that are shared counted once."""
    return sum({parameter: parameter.nbytes for module in modules for parameter in module.parameters()}.values())


def compare_memory(
    before: PreTrainedModel, after: PreTrainedModel, inputs: Mapping[str, Any]
) -> dict[str, int | float | str]:
    """Peak bytes of a pass of each base network over the same inputs, their ratio, and how that was measured."""
    peaks = [peak_bytes(network.base_model, inputs) for network in (before, after)]
    how = HOW.get(before.device.type, COUNTED)
    return {"before": peaks[0], "after": peaks[1], "ratio": peaks[1] / peaks[0], "measured": how}


def peak_bytes(network: nn.Module, inputs: Mapping[str, Any]) -> int:
    """Bytes of the network's weights and of what is alive at most while it runs."""
    device = next(network.parameters()).device
    with torch.no_grad():
        if device.type == "cuda":
            torch.cuda.synchronize(device)
            torch.cuda.reset_peak_memory_stats(device)
            present = int(torch.cuda.memory_allocated(device))
            network(**inputs)
            return weight_bytes([network]) + int(torch.cuda.max_memory_allocated(device)) - present
        known = [*network.parameters(), *network.buffers(), *(part for part in inputs.values() if _is_tensor(part))]
        living = _LiveTensors(known)
        with living:
            network(**inputs)
        return weight_bytes([network]) + living.most


def _is_tensor(part: object) -> bool:
    return isinstance(part, Tensor)


class _LiveTensors(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the memory of tensors while operations run; views and what was known before add nothing."""

    def __init__(self, known: Sequence[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._places = {tensor.untyped_storage().data_ptr() for tensor in known}
        self._now = self.most = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run an operation and take note of what it returns."""
        result = function(*args, **(kwargs or {}))
        for tensor in filter(_is_tensor, tree_leaves(result)):
            self._note(tensor.untyped_storage())
        return result

    def _note(self, storage: torch.UntypedStorage) -> None:
        place, size = storage.data_ptr(), storage.nbytes()
        if place in self._places or not size:
            return
        self._places.add(place)
        self._now += size
        self.most = max(self.most, self._now)
        weakref.finalize(storage, self._forget, place, size).atexit = False

    def _forget(self, place: int, size: int) -> None:
        self._places.discard(place)
        self._now -= size
