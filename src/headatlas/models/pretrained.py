"""Calling transformers' `from_pretrained`: what goes wrong is said in words, and no weight is silently random."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import transformers
from transformers import modeling_gguf_pytorch_utils

from headatlas.errors import ModelError, first_line
from headatlas.models.embedded import EMBEDDED
from headatlas.models.extras import require_package
from headatlas.models.sources import ModelSource
from headatlas.models.weight_files import most_tensors

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_HARMLESS_IF_MISSING = ("pooler.", "position_ids", "rotary_emb.")
_MOST_NAMED = 3
_MOST_SHARING = 1000  # layers


def from_pretrained(loader: Any, source: ModelSource, arguments: dict[str, Any]) -> Any:
    """What `loader` (one of transformers' Auto classes) makes of a source; every failure is a ModelError."""
    if "gguf_file" in arguments:
        require_package("gguf", "A GGUF file", "embedded-decoder")
    try:
        with _no_gguf_bar():
            return loader.from_pretrained(source.location, **arguments)
    except ImportError as error:
        if library := re.search(r"requires the (\w[\w-]*) library", str(error)):
            package = library[1].lower()
            raise ModelError(f"{source.name}: needs {package}. Install it with: pip install {package}") from error
        raise ModelError(f"{source.name}: a package is missing ({first_line(error)}).") from error
    except Exception as error:
        hint = f"Check the name, or give a local folder, or one of: {', '.join(EMBEDDED)}."
        if "trust_remote_code" in str(error):
            hint = "If you trust its authors, pass --trust-remote-code."
        elif "weights_only" in str(error):
            raise ModelError(
                f"{source.name}: its weights are a pickle file with more than tensors in it, which could run code on "
                "this machine, so it was not opened. Ask its authors for safetensors, or convert it where that is safe."
            ) from error
        elif source.weights:
            hint = "Check that the folder holds a whole, undamaged model with its tokenizer."
        raise ModelError(f"{source.name}: cannot be loaded: {first_line(error)}. {hint}") from error


@contextmanager
def _no_gguf_bar() -> Iterator[None]:
    """Keep the bar off the screen that transformers shows over GGUF files, whatever its settings say about bars."""
    bar = modeling_gguf_pytorch_utils.tqdm
    modeling_gguf_pytorch_utils.tqdm = partial(bar, disable=True)
    try:
        yield
    finally:
        modeling_gguf_pytorch_utils.tqdm = bar


def load_network(
    loader: Any, source: ModelSource, arguments: dict[str, Any], dtype: torch.dtype
) -> tuple[PreTrainedModel, list[str], list[str]]:
    """The network; which tensors outside its encoder or decoder (its head's) the weights do not hold; and which of
    the weights' tensors it has no place for.

    Raises ModelError where tensors have another size than the configuration says, or are missing elsewhere.
    """
    checked_here = {"output_loading_info": True, "ignore_mismatched_sizes": True}
    network, info = from_pretrained(loader, source, arguments | {"dtype": dtype} | checked_here)
    if wrong := sorted(info["mismatched_keys"]):
        named = ", ".join(f"{key} is {list(found)}, not {list(meant)}" for key, found, meant in wrong[:_MOST_NAMED])
        raise ModelError(
            f"{source.name}: {len(wrong)} of the weights' tensors have another size than config.json says ({named}). "
            "The weights and config.json belong to different models."
        )
    missing = [key for key in info["missing_keys"] if not any(part in key for part in _HARMLESS_IF_MISSING)]
    in_head = [key for key in missing if not key.startswith(f"{network.base_model_prefix}.")]
    if network is network.base_model or in_head != missing:
        refuse_missing(source, missing)
    return network, in_head, sorted(info["unexpected_keys"])


def check_layers(source: ModelSource, config: Any) -> None:
    """Refuse a configuration with more layers than its weights have tensors, before all those layers are built.

    Layers may share weights, but not by the thousand.
    """
    layers = max(
        (value for key, value in config.to_dict().items() if "layers" in key and type(value) is int), default=0
    )
    if source.weights and layers > max(_MOST_SHARING, sum(map(most_tensors, source.weights))):
        raise ModelError(
            f"{source.name}: config.json names {layers:,} layers, but the weights have fewer tensors than that. "
            "The weights and config.json belong to different models."
        )


def saved_class(config: Any, name: str) -> type[PreTrainedModel]:
    """The class of transformers that config.json says the weights were saved as."""
    called = next(iter(config.architectures or ()), "")
    found = getattr(transformers, called, None) if called.isidentifier() else None
    if not isinstance(found, type) or not issubclass(found, transformers.PreTrainedModel):
        raise ModelError(
            f"{name}: its config.json names no class of transformers ({called!r}), so what heads it has is not known."
        )
    return found


def refuse_missing(source: ModelSource, missing: list[str]) -> None:
    """Raise ModelError naming the tensors that the weights lack, if there are any."""
    if missing:
        named = ", ".join(sorted(missing)[:_MOST_NAMED])
        raise ModelError(
            f"{source.name}: {len(missing)} of the network's tensors are missing from the weights ({named}...). "
            "The folder does not hold a whole model of the kind its config.json describes."
        )
