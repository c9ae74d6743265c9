"""The fitted parts as a PEFT folder: LoRA matrices, the head's modules and the decoder's bias, in float16.

The decoder's weight is the base's word embeddings, so it is not in the file.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors import torch as safetensors_torch

from headatlas.commands.fit_mlm.network import FitNetwork
from headatlas.files import write_atomically, write_text
from headatlas.models.pretrained import require_peft
from headatlas.models.sources import ADAPTER_CONFIG, ADAPTER_WEIGHTS


def write_adapter(network: FitNetwork, folder: Path) -> None:
    """Write `adapter_model.safetensors` and, last, `adapter_config.json`."""
    fitted = require_peft().get_peft_model_state_dict(network.peft, save_embedding_layers=False)
    tensors = {
        key: tensor.detach().to("cpu", torch.float16).contiguous()
        for key, tensor in fitted.items()
        if _is_fitted(key, network)
    }
    content = safetensors_torch.save(tensors, {"format": "pt"})
    write_atomically(folder / ADAPTER_WEIGHTS, lambda temporary: temporary.write_bytes(content))
    config = network.config.to_dict() | {"inference_mode": True}
    described = {key: sorted(value) if isinstance(value, set) else value for key, value in config.items()}
    write_text(folder / ADAPTER_CONFIG, json.dumps(described, indent=2, sort_keys=True, default=str) + "\n")


def _is_fitted(key: str, network: FitNetwork) -> bool:
    """With bias="all" peft lists every bias of the encoder too, and the decoder's under both of its names."""
    name = key.removeprefix("base_model.model.")
    parts = [*(network.config.modules_to_save or ()), network.decoder]
    return "lora_" in name or any(name.startswith(f"{part}.") for part in parts)
