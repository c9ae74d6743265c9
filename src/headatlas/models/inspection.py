"""A first look at a network: one short forward pass that shows its layers, heads and whether it is causal.

Everything later relies on what this pass saw, not on what a configuration file says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headatlas.errors import ModelError
from headatlas.models.attention import listening
from headatlas.models.placing import home_of
from headatlas.models.stacks import HeadShape, Stack, StackNames, maps_in_outputs

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PROBE_TEXT = "The first look at a model."
SINK_SHARE = 0.01  # of a row's mass, at least, that goes to no token; rounding takes less


def see_shapes(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str, uses_interface: bool
) -> tuple[dict[Stack, HeadShape], bool]:
    """Run the probe and return the shape of each stack, and whether rows sum to less than 1 (a learned sink).

    Raises ModelError where layers are missing or not finite.
    """
    maps = _collect(network, tokenizer, uses_interface)
    shapes: dict[Stack, HeadShape] = {}
    for stack, layers in maps.items():
        for layer, weights in enumerate(layers):
            _check_finite(name, stack, layer, weights)
            if weights.shape[-1] != weights.shape[-2]:
                raise ModelError(
                    f"{name}: {type(network).__name__} gives maps of {weights.shape[-2]} x {weights.shape[-1]}: its "
                    "heads do not attend from every token to every token, so they cannot be observed."
                )
        shapes[stack] = HeadShape(tuple(weights.shape[1] for weights in layers))
    for stack, expected in _expected_layers(network.config, maps).items():
        seen = shapes[stack].layers if stack in shapes else 0
        if seen != expected:
            raise ModelError(
                f"{name}: saw the attention of {seen} {stack} layers out of {expected} ({type(network).__name__}). "
                "This architecture has layers whose attention cannot be observed, so nothing is reported."
            )
    return shapes, any(_has_sink(weights) for layers in maps.values() for weights in layers)


def heard_modules(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[nn.Module]:
    """The modules that attend by their file's eager function: none in files that have no such function."""
    modules: list[nn.Module] = []
    inputs = _probe_inputs(network, tokenizer)
    with torch.inference_mode(), listening(network, lambda module, _weights, _mask: modules.append(module)):
        network_to_run(network)(**inputs)
    return modules


def network_to_run(network: PreTrainedModel) -> nn.Module:
    """The part that is run for its maps: without its head, which may want more than texts (choices, labels)."""
    part: nn.Module = network if network.config.is_encoder_decoder else network.base_model
    return part


def inputs_to_run(network: PreTrainedModel, input_ids: Tensor) -> dict[str, Any]:
    """What that part is called with for token ids [B, T] without padding: a decoder reads what its encoder reads."""
    inputs = {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids)}
    return inputs | ({"decoder_input_ids": input_ids} if network.config.is_encoder_decoder else {})


def _collect(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, uses_interface: bool
) -> dict[Stack, list[Tensor]]:
    inputs, run = _probe_inputs(network, tokenizer), network_to_run(network)
    both = bool(network.config.is_encoder_decoder)
    maps: dict[Stack, list[Tensor]] = {}
    names = StackNames(network, None if both else "encoder")

    def hear(module: nn.Module, weights: Tensor, _mask: Tensor | None) -> None:
        maps.setdefault(names(module), []).append(weights)

    with torch.inference_mode():
        if uses_interface:
            with listening(network, hear):
                run(**inputs)
        else:
            outputs = run(**inputs, output_attentions=True)
            stacks: tuple[Stack, ...] = ("encoder", "decoder", "cross") if both else ("encoder",)
            maps = {stack: list(maps_in_outputs(outputs, stack)) for stack in stacks}
    if not both and "encoder" in maps and _is_causal(maps["encoder"]):
        return {"decoder": maps["encoder"]}
    return maps


def _has_sink(weights: Tensor) -> bool:
    return bool((weights.float().sum(-1) < 1 - SINK_SHARE).any())


def _probe_inputs(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    input_ids = tokenizer(PROBE_TEXT, return_tensors="pt")["input_ids"]
    return inputs_to_run(network, input_ids.to(home_of(network)))


def _is_causal(maps: list[Tensor]) -> bool:
    return all(bool((weights.triu(1) == 0).all()) for weights in maps) if maps else False


def _expected_layers(config: Any, maps: dict[Stack, list[Tensor]]) -> dict[Stack, int]:
    if config.is_encoder_decoder:
        encoder = getattr(config, "encoder", config).num_hidden_layers
        decoder = getattr(config, "decoder_layers", None) or getattr(config, "num_decoder_layers", None)
        decoder = decoder or getattr(config, "decoder", config).num_hidden_layers
        return {"encoder": encoder, "decoder": decoder, "cross": decoder}
    stack: Stack = "decoder" if "decoder" in maps else "encoder"
    return {stack: config.get_text_config().num_hidden_layers}


def _check_finite(name: str, stack: Stack, layer: int, weights: Tensor) -> None:
    bad = (~torch.isfinite(weights)).any(dim=-1).any(dim=-1).any(dim=0)  # [H]
    if not bad.any():
        return
    narrow = weights.dtype.itemsize < 4
    heads = [f"{layer + 1}-{head + 1}" for head in torch.nonzero(bad)[:, 0].tolist()]
    which = f"all {len(heads)} heads of layer {layer + 1}" if bad.all() else f"head {', '.join(heads)}"
    raise ModelError(
        f"{name}: the {stack} attention of {which} (layer-head, from 1) is not finite, though the weights are: "
        f"the numbers overflow in {str(weights.dtype).removeprefix('torch.')}. "
        + ("Try --dtype float32." if narrow else "Some weights are far too large: fetch, convert or fit them again.")
    )
