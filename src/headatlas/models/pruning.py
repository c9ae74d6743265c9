"""Cutting heads out of a network's weights, and loading such networks again.

A pruned network computes what the full network computes with the gates of the removed heads at 0 (`Model.gated`). A
layer may lose all of its heads: its attention then adds only the bias of the output projection.

>>> from headatlas.models.pruning import load_pruned
>>> network = load_pruned("pruned")                                          # doctest: +SKIP
>>> network(**tokenizer("Fewer heads.", return_tensors="pt")).last_hidden_state   # doctest: +SKIP
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from torch import nn
from transformers import AutoConfig, PreTrainedModel

from headatlas.errors import ModelError, SettingError
from headatlas.models.head_layouts import AttentionBlock, attention_blocks
from headatlas.models.observing import one_at_a_time
from headatlas.models.pretrained import saved_class
from headatlas.models.sources import Pruning, read_pruning

Head = tuple[int, int]  # layer and head, from 1


def load_pruned(folder: str | Path, **options: Any) -> PreTrainedModel:
    """Load a folder made by `headatlas prune` as the class of transformers that it was saved as.

    Args:
        folder: The pruned model.
        options: Options of `from_pretrained`, such as dtype or attn_implementation.

    Returns:
        The network with the heads that are left.
    """
    pruning = read_pruning(Path(folder))
    with one_at_a_time:
        config = AutoConfig.from_pretrained(folder)
        saved_as = saved_class(config, str(folder))
        network: PreTrainedModel = pruned_class(saved_as, pruning).from_pretrained(folder, config=config, **options)
    return network


def pruned_class(saved_as: type[PreTrainedModel], pruning: Pruning) -> type[PreTrainedModel]:
    """A subclass of a transformers class with only the kept heads, which it records when it is saved."""

    def init(self: Any, config: Any, *inputs: Any, **options: Any) -> None:
        saved_as.__init__(self, config, *inputs, **options)
        _keep(self, pruning.kept_heads)

    def save_pretrained(self: Any, save_directory: str | Path, *inputs: Any, **options: Any) -> None:
        saved_as.save_pretrained(self, save_directory, *inputs, **options)
        pruning.write(Path(save_directory))

    methods = {"__init__": init, "save_pretrained": save_pretrained}
    return type(
        saved_as.__name__, (saved_as,), methods | {"headatlas_pruning": pruning, "__module__": saved_as.__module__}
    )


def pruned_copy(
    network: PreTrainedModel, removed: Iterable[Head], base: Mapping[str, Any], name: str
) -> PreTrainedModel:
    """A copy of a network without some of its heads, numbered as in this network.

    If the network was pruned before, the record still refers to the heads and the identity of the original base.
    """
    blocks, removed_heads = attention_blocks(network, name), set(removed)
    check_removed(blocks, removed_heads, name)
    all_heads = [list(range(1, block.heads + 1)) for block in blocks]
    kept_heads = [
        [head for head in heads if (layer, head) not in removed_heads] for layer, heads in enumerate(all_heads, start=1)
    ]
    before: Pruning | None = getattr(network, "headatlas_pruning", None)
    base_numbers = before.kept_heads if before else tuple(map(tuple, all_heads))
    kept_in_base = (
        tuple(numbers[head - 1] for head in heads) for numbers, heads in zip(base_numbers, kept_heads, strict=True)
    )
    pruning = Pruning(tuple(kept_in_base), before.base if before else base)
    smaller = copy.deepcopy(network)
    _forget_gguf(smaller)
    _keep(smaller, kept_heads)
    smaller.__class__ = pruned_class(type(network).__bases__[0] if before else type(network), pruning)
    return smaller


def bound_heads(blocks: list[AttentionBlock]) -> list[tuple[Head, ...]]:
    """Heads that can only be removed together: they share a key and value or, in ALBERT, a layer's weights."""
    bound: dict[tuple[int, int], list[Head]] = {}
    for layer, block in enumerate(blocks, start=1):
        for head in range(block.heads):
            bound.setdefault((id(block.module), head // block.group), []).append((layer, head + 1))
    return sorted(map(tuple, bound.values()))


def check_removed(blocks: list[AttentionBlock], removed: set[Head], name: str) -> None:
    """Refuse to separate heads that can only be removed together, and to remove all heads."""
    for heads in bound_heads(blocks):
        remaining = [head for head in heads if head not in removed]
        if remaining and len(remaining) < len(heads):
            first = next(head for head in heads if head in removed)
            raise SettingError(
                f"{name}: head {_named([first])} shares weights with {_named(remaining)}, which would remain. "
                f"Remove all of {_named(heads)}, or none."
            )
    if len(removed) == sum(block.heads for block in blocks):
        raise SettingError(f"{name}: these are all of its heads. Keep at least one.")


def _named(heads: Iterable[Head]) -> str:
    return ", ".join(f"{layer}-{head}" for layer, head in heads)


def _keep(network: PreTrainedModel, kept: Iterable[Iterable[int]]) -> None:
    """Cut all heads but these (from 1) out of a network; a block that layers share is cut only once."""
    heads = [list(layer) for layer in kept]
    blocks = attention_blocks(network, type(network).__name__)
    if len(heads) != len(blocks):
        raise ModelError(f"Heads are kept of {len(heads)} layers, but {type(network).__name__} has {len(blocks)}.")
    cut: dict[nn.Module, list[int]] = {}
    for layer, (block, layer_heads) in enumerate(zip(blocks, heads, strict=True), start=1):
        if block.module in cut:
            if cut[block.module] != layer_heads:
                raise ModelError(f"Layer {layer} shares its weights with a layer that keeps other heads.")
            continue
        if layer_heads and layer_heads[-1] > block.heads:
            raise ModelError(f"Head {layer}-{layer_heads[-1]} is kept, but that layer has {block.heads} heads.")
        block.keep([head - 1 for head in layer_heads])
        cut[block.module] = layer_heads
    if not heads[0]:
        _do_without_cache(network)


def _do_without_cache(network: PreTrainedModel) -> None:
    """transformers infers from the first layer's keys how much has been generated; without heads it has none."""
    network.config.use_cache = False
    if getattr(network, "generation_config", None) is not None:
        network.generation_config.use_cache = False


def _forget_gguf(network: PreTrainedModel) -> None:
    """Weights of a GGUF file are plain numbers once loaded, but transformers would refuse to save them."""
    stored = getattr(network.config, "quantization_config", None)
    if stored is not None and "gguf" in str(getattr(stored, "quant_method", "")).lower():
        network.hf_quantizer = None
        del network.config.quantization_config
