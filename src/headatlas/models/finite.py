"""Damaged weights are found before anything is measured: every tensor is looked at, used by the maps or not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headatlas.errors import ModelError
from headatlas.models.pruning_record import Pruning

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_LAYER = re.compile(r"\.(\d+)\.")
_PROJECTION = re.compile(r"\b(?:(?P<query>q|query)|k|v|key|value)(?:_proj|_lin)?\.(?:weight|bias)$")
_MOST_NAMED = 4


def check_weights(network: PreTrainedModel, name: str) -> None:
    """Raise ModelError where a weight is NaN or infinite, naming its tensor, and its layer and heads if it has them.

    Those of a model too large for the memory are not in it; their maps are looked at as they arise.
    """
    damaged = []
    for key, tensor in network.named_parameters():
        if tensor.is_meta:  # left on disk until its layer runs
            continue
        finite = torch.isfinite(tensor)
        if not finite.all():
            damaged.append(f"{key}{_place(key, ~finite, network)}")
    if not damaged:
        return
    more = f" and {len(damaged) - _MOST_NAMED} more" if len(damaged) > _MOST_NAMED else ""
    narrow = network.dtype == torch.float16
    raise ModelError(
        f"{name}: NaN or infinite values in {', '.join(damaged[:_MOST_NAMED])}{more}. "
        + ("Try --dtype float32, or fetch" if narrow else "Fetch")
        + " or convert the weights again."
    )


def _place(key: str, bad: Tensor, network: PreTrainedModel) -> str:
    """' (layer 2)' or, where the rows of a projection belong to heads, ' (head 2-3)', both from 1.

    Of a pruned network heads are called by its own numbers, as everywhere, and by those of the whole one.
    """
    number = _LAYER.search(key)
    if number is None:
        return ""
    layer = int(number[1]) + 1
    projection = _PROJECTION.search(key)
    if projection is None:
        return f" (layer {layer})"
    config = network.config.get_text_config()
    pruning: Pruning | None = getattr(network, "headatlas_pruning", None)
    kept = pruning.kept_heads[layer - 1] if pruning else range(1, config.num_attention_heads + 1)
    shared = config.num_attention_heads // (getattr(config, "num_key_value_heads", None) or config.num_attention_heads)
    each = 1 if projection["query"] else shared  # heads that read the same rows
    of_row = bad.flatten(1).any(1) if bad.ndim > 1 else bad  # [rows]
    groups = len(kept) // each
    bad_groups = sorted({row * groups // len(of_row) for row in torch.nonzero(of_row)[:, 0].tolist()})
    own = [group * each + place for group in bad_groups for place in range(each)]
    whole = f"; {_named(layer, [kept[head] for head in own])} before it was pruned" if pruning else ""
    return f" (head {_named(layer, [head + 1 for head in own])}{whole})"


def _named(layer: int, heads: Iterable[int]) -> str:
    return ", ".join(f"{layer}-{head}" for head in heads)
