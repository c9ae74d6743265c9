"""Inspection of a network before anything is measured.

One short forward pass shows its layers, its heads and whether it is causal: everything later relies on what this pass
saw, not on a configuration file. Damaged weights are refused, and the last hidden states of an observed pass are
compared with those of a plain eager pass, once per set of weights. What a model file does besides attention may depend
on how it is run, sometimes only beyond a certain length. The input of that comparison is therefore longer than every
window and chunk that the configuration names, as far as positions, time and memory allow.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headatlas.choices import Stack
from headatlas.errors import HeadatlasError, ModelError
from headatlas.files import make_folder, parse_json, write_text
from headatlas.models.attention import observing, tiling
from headatlas.models.facts import home_of, longest_input
from headatlas.models.stacks import HeadShape, StackNames, maps_in_outputs
from headatlas.models.tiled import DroppedTiles
from headatlas.progress import moved
from headatlas.remote import cache_folder

FIRST_TEXT = "The first look at a model."
SINK_SHARE = 0.01  # the least share of a row's attention to no token that is not rounding
USUAL_TOKENS, MARGIN, FEWEST_TOKENS = 48, 8, 16  # if no size is named; beyond a named size; for the largest models
MOST_TOKENS = 1024  # one layer's eager maps of 32 heads then take 128 MB in float32
MOST_WORK = 2e11  # tokens x parameters of one pass: some seconds on a laptop
_SIZE = re.compile(r"window|chunk|block|local_attention|top_?k")
_STATES = ("last_hidden_state", "encoder_last_hidden_state")
_MOST_NAMED = 4
_FEWEST_ROWS, _TILES = 5, 8  # attention in tiles is compared in about so many


def check_weights(network: PreTrainedModel, name: str) -> None:
    """Raise ModelError naming the tensors with NaN or infinite values.

    Weights on disk (a model too large for memory) are not read; their attention is checked when it arises.
    """
    damaged = [
        key for key, tensor in network.named_parameters() if not tensor.is_meta and not torch.isfinite(tensor).all()
    ]
    if not damaged:
        return
    more = f" and {len(damaged) - _MOST_NAMED} more" if len(damaged) > _MOST_NAMED else ""
    raise ModelError(
        f"{name}: NaN or infinite values in {', '.join(damaged[:_MOST_NAMED])}{more}. "
        + ("Try --dtype float32, or download" if network.dtype == torch.float16 else "Download")
        + " or convert the weights again."
    )


def inspect_heads(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str, uses_interface: bool
) -> tuple[dict[Stack, HeadShape], bool]:
    """Return the shape of each stack, and whether rows sum to less than 1 (a learned sink).

    Raises ModelError if layers are missing or not finite.
    """
    maps = _first_maps(network, tokenizer, uses_interface)
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
        observed = shapes[stack].layers if stack in shapes else 0
        if observed != expected:
            raise ModelError(
                f"{name}: saw the attention of {observed} {stack} layers out of {expected} ({type(network).__name__}). "
                "The other layers of this architecture cannot be observed, so nothing is reported."
            )
    row_sums = (weights.float().sum(-1) for layers in maps.values() for weights in layers)
    return shapes, any(bool((sums < 1 - SINK_SHARE).any()) for sums in row_sums)


def observable_modules(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> list[nn.Module]:
    """The modules that attend by their file's eager function: none in files without such a function."""
    modules: list[nn.Module] = []
    inputs = _first_inputs(network, tokenizer)
    with torch.inference_mode(), observing(network, lambda module, _weights, _mask: modules.append(module)):
        _part_to_run(network)(**inputs)
    return modules


def compare_with_eager(
    network: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    name: str,
    uses_interface: bool,
    weights: Mapping[str, Any] | str | None,
) -> dict[str, Any]:
    """How far the observed network is from plain eager attention, for the manifest; ModelError if beyond rounding.

    weights: what identifies the weights. If given, the result is cached.
    """
    if not uses_interface:
        return {"not_compared": "it is observed through output_attentions, which is plain eager attention"}
    wanted, tokens = _length(network, tokenizer)
    cached = _cached_result(network, weights, tokens)
    result = _read(cached) if cached else None
    if result is None:
        try:
            result = {"tokens": tokens} | _compare(network, tokenizer, tokens)
        except (RuntimeError, ValueError, IndexError, TypeError) as error:  # too long for it, or out of memory
            return {"not_compared": f"{tokens} tokens cannot be run ({type(error).__name__})"}
        if tokens < wanted:
            result["tokens_that_would_show_all"] = wanted
        if cached:
            with contextlib.suppress(HeadatlasError):  # a cache that cannot be written does no harm
                make_folder(cached.parent)
                write_text(cached, json.dumps(result))
    if result["largest_difference"] > _rounding(network, result):
        raise ModelError(
            f"{name}: {type(network).__name__} computes something different when it is observed than on its own: with "
            f"eager attention its last hidden states differ by up to {result['largest_difference']:.2g} over "
            f"{result['tokens']} tokens. Its attention would be that of another network, so nothing is measured. "
            f"Please report the model with your versions of headatlas and transformers ({version('transformers')})."
        )
    return result


def _first_maps(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, uses_interface: bool
) -> dict[Stack, list[Tensor]]:
    inputs, run = _first_inputs(network, tokenizer), _part_to_run(network)
    encoder_decoder = bool(network.config.is_encoder_decoder)
    maps: dict[Stack, list[Tensor]] = {}
    names = StackNames(network, None if encoder_decoder else "encoder")

    def see(module: nn.Module, weights: Tensor, _mask: Tensor | None) -> None:
        maps.setdefault(names(module), []).append(weights)

    with torch.inference_mode():
        if uses_interface:
            with observing(network, see):
                run(**inputs)
        else:
            outputs = run(**inputs, output_attentions=True)
            stacks: tuple[Stack, ...] = ("encoder", "decoder", "cross") if encoder_decoder else ("encoder",)
            maps = {stack: list(maps_in_outputs(outputs, stack)) for stack in stacks}
    causal = all(bool((weights.triu(1) == 0).all()) for weights in maps.get("encoder", []))
    return {"decoder": maps["encoder"]} if maps.get("encoder") and causal and not encoder_decoder else maps


def _part_to_run(network: PreTrainedModel) -> nn.Module:
    """The part that is run for its maps: without its head, which may want more than texts (choices, labels)."""
    part: nn.Module = network if network.config.is_encoder_decoder else network.base_model
    return part


def _inputs_to_run(network: PreTrainedModel, input_ids: Tensor) -> dict[str, Any]:
    """What that part is called with for token ids [B, T] without padding: a decoder reads what its encoder reads."""
    inputs = {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids)}
    return inputs | ({"decoder_input_ids": input_ids} if network.config.is_encoder_decoder else {})


def _first_inputs(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    input_ids = tokenizer(FIRST_TEXT, return_tensors="pt")["input_ids"]
    return _inputs_to_run(network, input_ids.to(home_of(network)))


def _expected_layers(config: Any, maps: dict[Stack, list[Tensor]]) -> dict[Stack, int]:
    if config.is_encoder_decoder:
        encoder = getattr(config, "encoder", config).num_hidden_layers
        decoder = getattr(config, "decoder_layers", None) or getattr(config, "num_decoder_layers", None)
        decoder = decoder or getattr(config, "decoder", config).num_hidden_layers
        return {"encoder": encoder, "decoder": decoder, "cross": decoder}
    stack: Stack = "decoder" if "decoder" in maps else "encoder"
    return {stack: config.get_text_config().num_hidden_layers}


def _check_finite(name: str, stack: Stack, layer: int, weights: Tensor) -> None:
    overflowing = (~torch.isfinite(weights)).any(dim=-1).any(dim=-1).any(dim=0)  # [H]
    if not overflowing.any():
        return
    heads = ", ".join(f"{layer + 1}-{head + 1}" for head in torch.nonzero(overflowing)[:, 0].tolist())
    raise ModelError(
        f"{name}: the {stack} attention of head {heads} (layer-head, from 1) is not finite, although all weights are: "
        f"the numbers overflow in {str(weights.dtype).removeprefix('torch.')}. "
        + ("Try --dtype float32." if weights.dtype.itemsize < 4 else "Download, convert or fit the weights again.")
    )


def _rounding(network: PreTrainedModel, result: Mapping[str, Any]) -> float:
    """The largest difference that rounding may make: relative to the largest number. Usually there is none at all."""
    return float(torch.finfo(network.dtype).eps ** 0.5 * max(1.0, result["largest_state"]))


def _compare(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, tokens: int) -> dict[str, Any]:
    """The largest absolute difference of the last hidden states, the largest of their numbers, and those of tiles."""
    plain = _states(network, tokenizer, tokens)
    with observing(network, lambda *_: None):
        observed = _states(network, tokenizer, tokens)
    if not plain:
        raise ValueError("there are no hidden states to compare")
    largest = max(float(states.nan_to_num(0, 0, 0).abs().max()) for states in plain)
    result: dict[str, Any] = {"largest_difference": _largest_difference(plain, observed), "largest_state": largest}
    return result | {"in_tiles": _compare_tiles(network, tokenizer, plain, tokens, _rounding(network, result))}


def _compare_tiles(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, plain: list[Tensor], tokens: int, rounding: float
) -> dict[str, Any]:
    """How far attention in tiles is from that in one piece, and how many layers are computed in which way.

    An eager function that minds how many queries it gets is not the same in tiles: "differs" says so.
    """
    layers: Counter[str] = Counter()

    class Counted(DroppedTiles):
        def finish(self, path: str) -> None:
            layers[path] += 1

    def open_sink(_module: nn.Module, query: Tensor) -> DroppedTiles:
        return Counted([query.shape[2]] * len(query))

    try:
        with tiling(network, open_sink, rows=max(_FEWEST_ROWS, tokens // _TILES)):
            difference = _largest_difference(plain, _states(network, tokenizer, tokens))
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        return {"differs": True, "reason": type(error).__name__}
    return {"differs": difference > rounding, "largest_difference": difference, "layers": dict(layers)}


def _states(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, tokens: int) -> list[Tensor]:
    """The last hidden states of random ordinary tokens."""
    ordinary = sorted(set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids))
    chosen = torch.randint(len(ordinary), (tokens,), generator=torch.Generator().manual_seed(0))
    input_ids = torch.tensor(ordinary)[chosen][None].to(home_of(network))
    moved()
    with torch.inference_mode():
        return list(_last_states(_part_to_run(network)(**_inputs_to_run(network, input_ids))))


def _largest_difference(plain: list[Tensor], other: list[Tensor]) -> float:
    return max(_difference(*pair) for pair in zip(plain, other, strict=True))


def _last_states(outputs: Any) -> Iterator[Tensor]:
    """The last hidden states of a pass; for a network with its head, the logits made from them."""
    for name in _STATES:
        if getattr(outputs, name, None) is not None:
            yield outputs[name].double() if outputs[name].device.type != "mps" else outputs[name].float()
    if getattr(outputs, "last_hidden_state", None) is None and getattr(outputs, "logits", None) is not None:
        yield outputs.logits.float()


def _difference(plain: Tensor, observed: Tensor) -> float:
    """The largest difference; NaN in both counts as equal, NaN in one as infinite."""
    difference = (plain - observed).abs()
    difference = difference.masked_fill((plain == observed) | (plain.isnan() & observed.isnan()), 0)
    return float(difference.nan_to_num(nan=torch.inf).max())


def _length(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> tuple[int, int]:
    """How many tokens would exceed every size that the configuration names, and how many are run."""
    wanted = max([USUAL_TOKENS, *(size + MARGIN for size in _sizes(network.config.to_dict()))])
    parameters = max(1, sum(parameter.numel() for parameter in network.parameters()))
    affordable = min(MOST_TOKENS, max(FEWEST_TOKENS, int(MOST_WORK / parameters)))
    longest = longest_input(network, tokenizer) or wanted
    return min(wanted, longest), min(wanted, longest, affordable)


def _sizes(config: Any) -> Iterator[int]:
    """Sizes of windows, chunks and similar anywhere in a configuration."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _sizes(value)
        elif _SIZE.search(str(name)):
            yield from (size for size in (value if isinstance(value, list) else [value]) if type(size) is int)


def _cached_result(network: PreTrainedModel, weights: Mapping[str, Any] | str | None, tokens: int) -> Path | None:
    """The file that caches the result for these weights, run in this way by these packages."""
    if not weights:
        return None
    packages = {package: version(package) for package in ("headatlas", "transformers", "torch")}
    identity = [weights, tokens, type(network).__name__, str(network.dtype), home_of(network).type, packages]
    digest = hashlib.sha256(json.dumps([*identity, repr(network.config)], sort_keys=True).encode())
    with contextlib.suppress(RuntimeError):  # a user without a home folder
        return cache_folder() / "fidelity" / f"{digest.hexdigest()[:32]}.json"
    return None


def _read(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError):
        result = parse_json(path.read_text(encoding="utf-8"))
        if isinstance(result, dict) and {"tokens", "largest_difference", "largest_state", "in_tiles"} <= result.keys():
            return result
    return None
