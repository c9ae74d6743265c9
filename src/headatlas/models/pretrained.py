"""Calling transformers' `from_pretrained`: failures become readable errors, and no weight is silently random.

Optional packages are imported when they are needed; if one is missing, the error says how to install it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import transformers
from safetensors import SafetensorError, safe_open
from transformers import AutoModelForMaskedLM, PreTrainedModel, core_model_loading, modeling_gguf_pytorch_utils

from headatlas.errors import ModelError, first_line
from headatlas.models.embedded import EMBEDDED
from headatlas.models.sources import ModelSource
from headatlas.progress import moved

_HARMLESS_IF_MISSING = ("pooler.", "position_ids", "rotary_emb.")
_MOST_NAMED = 3
_MOST_SHARING = 1000  # layers that share their weights
_FEWEST_BYTES = 64  # of a tensor in any format, with its name and shape


def require_package(name: str, needed_by: str, extra: str) -> Any:
    """Import an optional package, or raise ModelError saying how to install or update it.

    needed_by: what needs it, as the beginning of a sentence.
    """
    try:
        return import_module(name)
    except Exception as error:  # an installed package may break on others in any way
        if find_spec(name) is None:
            problem, remedy, option = f"needs {name}", "Install", ""
        else:
            problem = f"needs {name}, which is installed but cannot be imported ({first_line(error)})"
            remedy, option = "Update", "--upgrade "
        raise ModelError(
            f'{needed_by} {problem}. {remedy} it with: pip install {option}"headatlas[{extra}]"'
        ) from error


def require_peft() -> Any:
    """Import peft, or raise ModelError saying how to install it."""
    return require_package("peft", "A fitted model", "fit")


@contextmanager
def reading(source: ModelSource) -> Iterator[None]:
    """Within this context loading moves the progress display instead of bars of its own; a GGUF file is read once."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(core_model_loading, "tqdm", reporting))
        if "gguf_file" in source.arguments and find_spec("gguf") is not None:
            stack.enter_context(reading_once())
        yield


def from_pretrained(loader: Any, source: ModelSource, arguments: dict[str, Any]) -> Any:
    """Load a source with `loader`, one of transformers' Auto classes; every failure is a ModelError."""
    if "gguf_file" in arguments:
        require_package("gguf", "A GGUF file", "embedded-decoder")
    try:
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
                "this machine, so it was not opened. Ask its authors for safetensors, or convert it on a machine where "
                "that is safe."
            ) from error
        elif source.weights:
            hint = "Check that the folder holds a whole, undamaged model with its tokenizer."
        raise ModelError(f"{source.name}: cannot be loaded: {first_line(error)}. {hint}") from error


def load_network(
    loader: Any, source: ModelSource, arguments: dict[str, Any], dtype: torch.dtype
) -> tuple[PreTrainedModel, list[str], list[str]]:
    """Load a network; return it, the tensors of its head that the weights lack, and the weights' unused tensors.

    Raises ModelError if tensors have another size than the configuration says, or are missing outside the head.
    """
    checked_here = {"output_loading_info": True, "ignore_mismatched_sizes": True}
    network, info = from_pretrained(loader, source, arguments | {"dtype": dtype} | checked_here)
    if wrong := sorted(info["mismatched_keys"]):
        named = ", ".join(f"{key} is {list(size)}, not {list(expected)}" for key, size, expected in wrong[:_MOST_NAMED])
        raise ModelError(
            f"{source.name}: {len(wrong)} of the tensors have another size than config.json says ({named}). "
            "The weights and config.json belong to different models."
        )
    missing = [key for key in info["missing_keys"] if not any(part in key for part in _HARMLESS_IF_MISSING)]
    in_head = [key for key in missing if not key.startswith(f"{network.base_model_prefix}.")]
    if network is network.base_model or in_head != missing:
        refuse_missing(source, missing)
    return network, in_head, sorted(info["unexpected_keys"])


def check_layers(source: ModelSource, config: Any) -> None:
    """Refuse a configuration with more layers than its weights have tensors, before all those layers are built.

    Layers may share weights, but not thousands of them.
    """
    layers = max(
        (value for key, value in config.to_dict().items() if "layers" in key and type(value) is int), default=0
    )
    if source.weights and layers > max(_MOST_SHARING, sum(map(_most_tensors, source.weights))):
        raise ModelError(
            f"{source.name}: config.json names {layers:,} layers, but the weights have fewer tensors than that. "
            "The weights and config.json belong to different models."
        )


def _most_tensors(path: Path) -> int:
    """The largest possible number of tensors in a weight file: counted in safetensors, else estimated by its size."""
    if path.suffix == ".safetensors":
        try:
            with safe_open(path, "np") as file:
                return len(list(file.keys()))
        except (OSError, SafetensorError):  # reported when it is loaded
            pass
    return path.stat().st_size // _FEWEST_BYTES


def saved_class(config: Any, name: str) -> type[PreTrainedModel]:
    """The class of transformers that config.json says the weights were saved as."""
    class_name = next(iter(config.architectures or ()), "")
    saved_as = getattr(transformers, class_name, None) if class_name.isidentifier() else None
    if not isinstance(saved_as, type) or not issubclass(saved_as, PreTrainedModel):
        raise ModelError(
            f"{name}: its config.json names no class of transformers ({class_name!r}), so its heads are unknown."
        )
    return saved_as


def refuse_missing(source: ModelSource, missing: list[str]) -> None:
    """Raise ModelError naming the tensors that the weights lack, if there are any."""
    if missing:
        named = ", ".join(sorted(missing)[:_MOST_NAMED])
        raise ModelError(
            f"{source.name}: {len(missing)} of the network's tensors are missing from the weights ({named}...). "
            "The folder does not hold a complete model of the kind that its config.json describes."
        )


def load_fitted(source: ModelSource, arguments: dict[str, Any], dtype: torch.dtype) -> PreTrainedModel:
    """Load the base of a `headatlas fit-mlm` folder with the fitted head, and merge the adapters into its weights.

    The result is a plain network, as fast as the base. Adapters are merged in float32, so that a narrow `dtype` rounds
    once.
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


_STRINGS = 1000  # of a vocabulary, between two reports


@contextmanager
def reading_once() -> Iterator[None]:
    """Within this context each GGUF file is read once, and the progress display moves on the way.

    transformers reads the whole file for the tokenizer, again for the configuration and again for the weights, and
    makes the table of tensor names anew for every module of the network.
    """
    import gguf

    with (
        patch.object(gguf, "GGUFReader", cache(_reporting_reader(gguf.GGUFReader))),
        patch.object(gguf, "get_tensor_name_map", cache(gguf.get_tensor_name_map)),
        patch.object(modeling_gguf_pytorch_utils, "tqdm", reporting),
    ):
        yield


def reporting(items: Any, *_: Any, **__: Any) -> Iterator[Any]:
    """Report each item to the progress display; stands in for tqdm."""
    share = 1 / max(len(items), 1)
    for item in items:
        yield item
        moved(share)


def _reporting_reader(reader_class: Any) -> Any:
    """A reader that reports, and reads from a plain array: slices of a memory map cost twice as much."""

    class Reader(reader_class):  # type: ignore[misc]
        _strings = 0

        @property
        def data(self) -> np.ndarray[Any, Any]:
            return self._data

        @data.setter
        def data(self, mapped: np.ndarray[Any, Any]) -> None:
            self._data = mapped.view(np.ndarray)

        def _get_str(self, offset: int) -> Any:
            self._strings += 1
            if self._strings % _STRINGS == 0:
                moved()
            return super()._get_str(offset)

    return Reader
