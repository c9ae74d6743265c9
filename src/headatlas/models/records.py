"""What manifests record of a model."""

from __future__ import annotations

from typing import Any

from headatlas.choices import Stack
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
