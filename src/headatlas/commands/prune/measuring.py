"""How much smaller and faster a pruned network is than the whole one, and whether it computes the same.

Both run on the same batch, in turn, with the same attention function; times are medians over rounds, ratios medians
of each round's ratio. Bytes of weights are exact; the peak of a pass is known only on CUDA, from its allocator.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from headatlas.encoding.batches import Batch
from headatlas.errors import ModelError
from headatlas.manifest import BeforeAndAfter, PrunedSizes
from headatlas.models.gates import gates_without
from headatlas.models.head_layouts import AttentionBlock, attention_blocks
from headatlas.models.model import Model
from headatlas.models.pruning import Head
from headatlas.progress import moved

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_SAME, _SAME_IN_HALF = 1e-4, 3e-2  # relative to the largest hidden state; sums are taken in another order


def check_same(model: Model, pruned: PreTrainedModel, removed: Sequence[Head], batch: Batch) -> float:
    """The largest difference from gating in the last hidden states, relative to the largest of these.

    Raises ModelError where that is more than rounding.
    """
    inputs, mask = model.inputs(batch), batch.mask
    gates = gates_without(removed, model.shapes[model.default_stack], model.name, model.device)
    with torch.inference_mode():
        with model.gated(gates):
            gated = model.network.base_model(**inputs).last_hidden_state[mask].float()
        cut = pruned.base_model(**inputs).last_hidden_state[mask].float()
    difference = float((cut - gated).abs().max() / gated.abs().max().clamp_min(torch.finfo(torch.float32).tiny))
    if not difference <= (_SAME_IN_HALF if model.dtype.itemsize < 4 else _SAME):
        raise ModelError(
            f"{model.name}: without these heads it does not compute what it computes with their gates closed "
            f"(relative difference {difference:.2g}), so nothing is saved."
        )
    return difference


def compare_speed(
    model: Model, pruned: PreTrainedModel, batch: Batch, rounds: int, enough_seconds: float = math.inf
) -> dict[str, dict[str, float]]:
    """Seconds of a forward pass, of the whole model and of its attention blocks, before and after.

    enough_seconds: no round begins after this time.
    """
    inputs = model.inputs(batch)
    sides = {"before": model.network, "after": pruned}
    runs = {side: _timed(network, inputs, model.name) for side, network in sides.items()}
    taken: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
    started = time.perf_counter()
    for number in range(rounds + 1):
        if number > 1 and time.perf_counter() - started > enough_seconds:
            break
        for side in sides if number % 2 == 0 else reversed(sides):
            seconds = runs[side]()
            moved()
            if number:
                taken[side].append(seconds)
    speed: dict[str, dict[str, float]] = {}
    for place, part in enumerate(("model", "attention_blocks")):
        before, after = ([seconds[place] for seconds in taken[side]] for side in sides)
        speed[part] = {
            "seconds_before": statistics.median(before),
            "seconds_after": statistics.median(after),
            "ratio": statistics.median(now / then for now, then in zip(after, before, strict=True)),
            "rounds": len(before),
        }
    return speed


def sizes(model: Model, pruned: PreTrainedModel, removed: Sequence[Head], folder: Path) -> PrunedSizes:
    """Parameters, bytes of tensors and files, before and after, and as the layout of a head predicts them."""
    cut = numbers_of(attention_blocks(model.network, model.name), removed)
    parameters = model.network.num_parameters()
    before, after = weights_in_memory(model.network, model.name), weights_in_memory(pruned, model.name)
    return {
        "parameters": {"before": parameters, "predicted": parameters - cut, "after": pruned.num_parameters()},
        "tensor_bytes": {
            "before": before["model"],
            "predicted": before["model"] - cut * model.dtype.itemsize,
            "after": saved_tensor_bytes(folder),
        },
        "file_bytes": sum(path.stat().st_size for path in folder.glob("*.safetensors")),
        "weights_in_memory": {part: {"before": before[part], "after": after[part]} for part in before},
    }


def numbers_of(blocks: Sequence[AttentionBlock], heads: Sequence[Head]) -> int:
    """How many parameters belong to some heads; those of a block that layers share are counted once."""
    total, seen = 0, set()
    for layer, block in enumerate(blocks, start=1):
        if block.module not in seen:
            groups = sum(of_layer == layer for of_layer, _ in heads) // block.group
            total += groups * block.parameters_of_a_group
        seen.add(block.module)
    return total


def weights_in_memory(network: PreTrainedModel, name: str) -> dict[str, int]:
    """Bytes of the weights in memory: of all, and of the attention blocks."""
    blocks = {block.module for block in attention_blocks(network, name)}
    return {"model": weight_bytes([network]), "attention_blocks": weight_bytes(list(blocks))}


def weight_bytes(modules: Sequence[nn.Module]) -> int:
    """Bytes of the parameters; shared ones count once."""
    return sum({parameter: parameter.nbytes for module in modules for parameter in module.parameters()}.values())


def compare_memory(before: PreTrainedModel, after: PreTrainedModel, inputs: Mapping[str, Any]) -> BeforeAndAfter | None:
    """Peak bytes of a pass of each base network over the same inputs, and their ratio; None if not on CUDA."""
    if before.device.type != "cuda":
        return None
    peaks = [_peak_bytes(network.base_model, inputs) for network in (before, after)]
    return {"before": peaks[0], "after": peaks[1], "ratio": peaks[1] / peaks[0]}


def _peak_bytes(network: nn.Module, inputs: Mapping[str, Any]) -> int:
    """Bytes of the network's weights and the most that a pass allocates beside them."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    present = torch.cuda.memory_allocated()
    with torch.no_grad():
        network(**inputs)
    return weight_bytes([network]) + torch.cuda.max_memory_allocated() - present


def saved_tensor_bytes(folder: Path) -> int:
    """Bytes of the tensors in a folder's safetensors files, without the files' headers."""
    total = 0
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        places = [entry["data_offsets"] for name, entry in header.items() if name != "__metadata__"]
        total += sum(end - start for start, end in places)
    return total


def _timed(network: PreTrainedModel, inputs: dict[str, Any], name: str) -> Callable[[], tuple[float, float]]:
    """A forward pass that tells the seconds of the whole and those spent in attention blocks."""
    base = network.base_model
    blocks = {block.module for block in attention_blocks(network, name)}
    device = network.device

    def now() -> float:
        if device.type != "cpu":
            torch.accelerator.synchronize(device)
        return time.perf_counter()

    def run() -> tuple[float, float]:
        inside: list[float] = []
        hooks = [block.register_forward_pre_hook(lambda *_: inside.append(-now())) for block in blocks]
        hooks += [block.register_forward_hook(lambda *_: inside.append(now())) for block in blocks]
        try:
            with torch.inference_mode():
                start = now()
                base(**inputs)
                return now() - start, sum(inside)
        finally:
            for hook in hooks:
                hook.remove()

    return run
