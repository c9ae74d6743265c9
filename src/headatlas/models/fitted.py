"""A fitted folder (`headatlas fit-mlm`) as a model: the base with its new head, adapters merged into the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoModelForMaskedLM

from headatlas.errors import ModelError, first_line
from headatlas.models.extras import require_package
from headatlas.models.pretrained import load_network
from headatlas.models.sources import ModelSource

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def require_peft() -> Any:
    """The module `peft`, or how to install it."""
    return require_package("peft", "A fitted model", "fit")


def load_fitted(source: ModelSource, arguments: dict[str, Any], dtype: torch.dtype) -> PreTrainedModel:
    """Load the base with the fitted head and merge the adapters: a plain network, as fast as the base.

    Merged in float32, so that a narrow `dtype` rounds once.
    """
    peft = require_peft()
    network, _, _ = load_network(AutoModelForMaskedLM, source, arguments, torch.float32)
    try:
        network = peft.PeftModel.from_pretrained(network, str(source.adapter)).merge_and_unload()
    except Exception as error:
        raise ModelError(
            f"{source.name}: the adapter does not fit its base ({first_line(error)}). "
            "Run `headatlas fit-mlm` again into a new folder."
        ) from error
    return network.to(dtype)
