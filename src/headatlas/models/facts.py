"""What is known of a loaded model: how many tokens it reads at once, where they go, and what manifests record."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from headatlas.choices import Stack
from headatlas.errors import SettingError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from headatlas.models.model import Model


def model_identity(model: Model, stack: Stack) -> dict[str, Any]:
    """Return what determines the attention maps of a model, for comparing runs."""
    return {
        "model": model.name,
        "weights": model.source.get("weights_sha256") or model.source.get("commit"),
        "random_weights": model.source.get("random_weights"),
        "dtype": str(model.dtype).removeprefix("torch."),
        "attention": stack,
    }


def describe_model(model: Model, stack: Stack) -> dict[str, Any]:
    """Describe a model for a manifest."""
    shape = model.shapes[stack]
    return model.source | {
        "attention": stack,
        "encoder_decoder": model.is_encoder_decoder,
        "layers": shape.layers,
        "heads": list(shape.heads),
        "heads_per_key": model.heads_per_key,
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": str(model.device),
        "language_model": model.language_model,
        "tokenizer": type(model.tokenizer).__name__,
        "special_tokens": {
            "cls": model.tokenizer.cls_token or model.tokenizer.bos_token,
            "sep": model.tokenizer.sep_token or model.tokenizer.eos_token,
            "unk": model.tokenizer.unk_token,
        },
    }


_log = logging.getLogger(__name__)


def longest_input(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """How many tokens a network's positions and its tokenizer allow, or None without a limit."""
    positions = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    limits = [tokenizer.model_max_length]
    if positions is not None and positions > 0:  # XLNet says -1
        padding = getattr(_position_table(network), "padding_idx", None)
        limits.append(positions if padding is None else positions - padding - 1)
    shortest = min(limits)
    return int(shortest) if shortest < 10**9 else None


def check_length(max_tokens: int, network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    """Refuse inputs longer than a model's positions allow; warn where positions that are computed go on.

    Rotary positions have no last one, but what attention does beyond those of training is an extrapolation.
    """
    longest = longest_input(network, tokenizer)
    if longest is None or max_tokens <= longest:
        return
    if getattr(network.config.get_text_config(), "rope_parameters", None) is None:
        raise SettingError(
            f"--max-tokens {max_tokens} is more than the {longest} positions of {name}. Use at most {longest}."
        )
    _log.warning(
        "--max-tokens %d is more than the %d positions that %s was made for. Its positions can be computed further, "
        "but its attention beyond them is an extrapolation.",
        max_tokens,
        longest,
        name,
    )


def _position_table(network: nn.Module) -> nn.Module | None:
    """The embedding of absolute positions; RoBERTa and its relatives number positions from the padding index."""
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return module
    return None


def home_of(network: PreTrainedModel) -> torch.device:
    """The device of the inputs: the network's device, or the first GPU of its device map."""
    placed = (getattr(network, "hf_device_map", None) or {}).values()
    if not placed:
        return torch.device(network.device)
    devices = [device for device in placed if str(device) not in ("cpu", "disk")]
    return torch.device(devices[0]) if devices else torch.device("cpu")
