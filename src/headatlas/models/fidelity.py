"""Is the network that is observed the network that the weights are of?

Once for each set of weights, the last hidden states of an observed pass are compared with those of a plain eager pass.
Whatever a model file does beside attention depends on how it is run, sometimes only beyond a certain length: the input
is longer than every window and chunk that the configuration names, as far as positions, time and memory allow.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headatlas.errors import HeadatlasError, ModelError
from headatlas.files import make_folder, parse_json, write_text
from headatlas.models.attention import listening
from headatlas.models.inspection import inputs_to_run, network_to_run
from headatlas.models.model import longest_input
from headatlas.models.placing import home_of
from headatlas.remote import cache_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

USUAL_TOKENS, BEYOND, FEWEST_TOKENS = 48, 8, 16  # where no size is named; more than a named one; of the largest models
MOST_TOKENS = 1024  # one layer's eager maps of 32 heads then take 128 MB in float32
MOST_WORK = 2e11  # tokens x parameters of one pass: some seconds on a laptop
_SIZE = re.compile(r"window|chunk|block|local_attention|top_?k")
_STATES = ("last_hidden_state", "encoder_last_hidden_state")


def compare_once(
    network: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    name: str,
    uses_interface: bool,
    weights: Mapping[str, Any] | str | None,
) -> dict[str, Any]:
    """How far the observed network is from plain eager attention, for the manifest; ModelError if beyond rounding.

    weights: what identifies the weights; without it the result is not kept for the next time.
    """
    if not uses_interface:
        return {"not_compared": "it is observed through output_attentions, which is plain eager attention"}
    wanted, tokens = _length(network, tokenizer)
    kept = _kept_result(network, weights, tokens)
    result = _read(kept) if kept else None
    if result is None:
        try:
            result = {"tokens": tokens} | _compare(network, tokenizer, tokens)
        except (RuntimeError, ValueError, IndexError, TypeError) as error:  # too long for it, or out of memory
            return {"not_compared": f"{tokens} tokens cannot be run ({type(error).__name__})"}
        if tokens < wanted:
            result["tokens_that_would_show_all"] = wanted
        if kept:
            _write(kept, result)
    _refuse_difference(name, network, result)
    return result


def _refuse_difference(name: str, network: PreTrainedModel, result: Mapping[str, Any]) -> None:
    rounding = torch.finfo(network.dtype).eps ** 0.5  # of the largest number; the same function leaves none at all
    if result["largest_difference"] <= rounding * max(1.0, result["largest_state"]):
        return
    raise ModelError(
        f"{name}: observed, {type(network).__name__} computes something else than by itself with eager attention: its "
        f"last hidden states differ by up to {result['largest_difference']:.2g} over {result['tokens']} tokens. Its "
        "attention would be that of another network, so nothing is measured. Please report the model with your "
        f"versions of headatlas and transformers ({version('transformers')})."
    )


def _compare(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, tokens: int) -> dict[str, float]:
    """The largest absolute difference of the last hidden states, and the largest of their numbers."""
    ordinary = sorted(set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids))
    chosen = torch.randint(len(ordinary), (tokens,), generator=torch.Generator().manual_seed(0))
    input_ids = torch.tensor(ordinary)[chosen][None].to(home_of(network))
    inputs, run = inputs_to_run(network, input_ids), network_to_run(network)
    with torch.inference_mode():
        plain = list(_last_states(run(**inputs)))
        with listening(network, lambda *_: None):
            observed = list(_last_states(run(**inputs)))
    if not plain:
        raise ValueError("there are no hidden states to compare")
    largest = max(float(states.nan_to_num(0, 0, 0).abs().max()) for states in plain)
    pairs = zip(plain, observed, strict=True)
    return {"largest_difference": max(_difference(*pair) for pair in pairs), "largest_state": largest}


def _last_states(outputs: Any) -> Iterator[Tensor]:
    """The hidden states that a pass ends with; of a network with its head, those that its logits are made of."""
    for name in _STATES:
        if getattr(outputs, name, None) is not None:
            yield outputs[name].double() if outputs[name].device.type != "mps" else outputs[name].float()
    if getattr(outputs, "last_hidden_state", None) is None and getattr(outputs, "logits", None) is not None:
        yield outputs.logits.float()


def _difference(plain: Tensor, observed: Tensor) -> float:
    """The largest difference; what is not a number in both is equal, in one alone infinitely far."""
    apart = (plain - observed).abs()
    apart = apart.masked_fill((plain == observed) | (plain.isnan() & observed.isnan()), 0)
    return float(apart.nan_to_num(nan=torch.inf).max())


def _length(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> tuple[int, int]:
    """How many tokens would show every size that the configuration names, and how many are run."""
    wanted = max([USUAL_TOKENS, *(size + BEYOND for size in _sizes(network.config.to_dict()))])
    parameters = max(1, sum(parameter.numel() for parameter in network.parameters()))
    affordable = min(MOST_TOKENS, max(FEWEST_TOKENS, int(MOST_WORK / parameters)))
    longest = longest_input(network, tokenizer) or wanted
    return min(wanted, longest), min(wanted, longest, affordable)


def _sizes(config: Any) -> Iterator[int]:
    """Sizes of windows, chunks and the like anywhere in a configuration."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _sizes(value)
        elif _SIZE.search(str(name)):
            yield from (size for size in (value if isinstance(value, list) else [value]) if type(size) is int)


def _kept_result(network: PreTrainedModel, weights: Mapping[str, Any] | str | None, tokens: int) -> Path | None:
    """The file that keeps the result for these weights, run in this way by these packages."""
    if not weights:
        return None
    packages = {package: version(package) for package in ("headatlas", "transformers", "torch")}
    identity = [weights, tokens, type(network).__name__, str(network.dtype), home_of(network).type, packages]
    digest = hashlib.sha256(json.dumps([*identity, repr(network.config)], sort_keys=True).encode())
    with contextlib.suppress(RuntimeError):  # a user without a home
        return cache_folder() / "fidelity" / f"{digest.hexdigest()[:32]}.json"
    return None


def _read(path: Path) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError):
        result = parse_json(path.read_text(encoding="utf-8"))
        if isinstance(result, dict) and {"tokens", "largest_difference", "largest_state"} <= result.keys():
            return result
    return None


def _write(path: Path, result: Mapping[str, Any]) -> None:
    with contextlib.suppress(HeadatlasError):  # a cache that cannot be written does no harm
        make_folder(path.parent)
        write_text(path, json.dumps(result))
