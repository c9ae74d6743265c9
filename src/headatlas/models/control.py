"""The random-weights control: pretrained word and position embeddings, everything else as at initialisation.

The paper's baseline (section 5) for asking whether what a model shows was learned or comes with its architecture.
Relative position terms inside attention (T5) belong to the attention weights and are re-initialised with them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_POSITIONS = re.compile(r"(position_embeddings?|wpe|embed_positions|pos_embed\w*)\.weight$")


def randomise(network: PreTrainedModel, seed: int) -> PreTrainedModel:
    """A network of the same class whose weights are freshly drawn, but for word and position embeddings."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        fresh = type(network)._from_config(network.config, dtype=network.dtype)
    pretrained = dict(network.named_parameters())
    words = network.get_input_embeddings().weight
    with torch.no_grad():
        fresh.get_input_embeddings().weight.copy_(words)
        for name, parameter in fresh.named_parameters():
            if _POSITIONS.search(name):
                parameter.copy_(pretrained[name])
    fresh.tie_weights()
    return fresh
