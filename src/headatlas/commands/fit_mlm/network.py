"""The network to fit: an encoder with a fresh head whose output matrix is the encoder's own word embeddings.

Nothing here knows a family: the head is what lies outside `base_model`, its decoder is `get_output_embeddings()`, and
only the masked positions reach it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headatlas.commands.fit_mlm.corpus import MaskedBatch
from headatlas.errors import ModelError
from headatlas.models.language_model import logits_at
from headatlas.models.observing import quiet_transformers
from headatlas.models.pretrained import require_peft

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FROZEN_ENCODER = "dummy-target-modules"  # peft's own name for an adapter without LoRA matrices


class FitNetwork:
    """A masked language model of which only the head and the LoRA matrices learn."""

    def __init__(
        self, network: PreTrainedModel, name: str, *, rank: int, alpha: float, freeze: bool, seed: int
    ) -> None:
        peft = require_peft()
        self.network = network
        decoder = _tied_decoder(network, name)
        self.decoder = next(part for part, module in network.named_modules() if module is decoder)
        head = {part: module for part, module in head_modules(network).items() if part != self.decoder}
        _start_anew(network, list(head.values()), seed)
        config = peft.LoraConfig(
            r=rank,
            lora_alpha=alpha,
            target_modules=FROZEN_ENCODER if freeze else encoder_matrices(network),
            modules_to_save=sorted(head),
            bias="all",  # so that the decoder's bias belongs to the adapter
        )
        with torch.random.fork_rng(devices=[]), quiet_transformers():
            torch.manual_seed(seed)
            self.peft = peft.get_peft_model(network, config)
        self.config = self.peft.peft_config["default"]
        self.config.base_model_name_or_path = name
        bias = network.get_output_embeddings().bias
        for key, parameter in network.named_parameters():
            parameter.requires_grad_(parameter is bias or "lora_" in key or ".modules_to_save." in key)
        self.peft.eval()  # no dropout

    @property
    def learning(self) -> dict[str, nn.Parameter]:
        """What is trained, by name."""
        return {key: parameter for key, parameter in self.network.named_parameters() if parameter.requires_grad}

    def set_bias(self, counts: NDArray[np.int64]) -> None:
        """Start from the unigram distribution: what the head says before it has learnt anything else."""
        bias = self.network.get_output_embeddings().bias
        if bias is not None:
            with torch.no_grad():
                bias.copy_(torch.from_numpy(unigram_log_probabilities(counts)))

    def masked_logits(self, batch: MaskedBatch) -> Tensor:
        """Logits of the chosen positions only: [N, V]."""
        inputs = {"input_ids": batch.input_ids, "attention_mask": batch.mask}
        return logits_at(self.network, inputs, batch.chosen)


def head_modules(network: PreTrainedModel) -> dict[str, nn.Module]:
    """The modules outside the encoder that hold parameters of their own and no further modules."""
    inside = {id(module) for module in network.base_model.modules()}
    return {
        name: module
        for name, module in network.named_modules()
        if id(module) not in inside and not list(module.children()) and list(module.parameters())
    }


def encoder_matrices(network: PreTrainedModel) -> list[str]:
    """The names of all linear layers of the encoder but a pooler's: attention and feed-forward."""
    encoder = network.base_model
    inside = {id(module) for module in encoder.modules()}
    return [
        name
        for name, module in network.named_modules()
        if isinstance(module, nn.Linear) and id(module) in inside and "pooler" not in name.split(".")
    ]


def unigram_log_probabilities(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Natural logarithms of the add-one smoothed frequencies. counts: [V]."""
    smoothed = counts.astype(np.float64) + 1
    logarithms: NDArray[np.float64] = np.log(smoothed / smoothed.sum())
    return logarithms.astype(np.float32)


def _tied_decoder(network: PreTrainedModel, name: str) -> nn.Module:
    decoder = network.get_output_embeddings()
    if decoder is None or decoder.weight is not network.get_input_embeddings().weight:
        raise ModelError(
            f"{name}: the head of {type(network).__name__} does not use the encoder's word embeddings as its output "
            "matrix, so a small head cannot be fitted. Set tie_word_embeddings to true in its config.json."
        )
    return decoder  # type: ignore[no-any-return]


def _start_anew(network: PreTrainedModel, modules: list[nn.Module], seed: int) -> None:
    """Draw the head's weights as transformers would, whatever the checkpoint brought."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        for module in modules:
            for tensor in module.parameters():
                tensor._is_hf_initialized = False  # type: ignore[attr-defined]
            network._init_weights(module)
