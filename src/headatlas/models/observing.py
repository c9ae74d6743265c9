"""Making any network in memory observable."""

from __future__ import annotations

import copy
import hashlib
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any, TypeVar

import torch
import transformers
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.models.auto import modeling_auto as auto

from headatlas.choices import LanguageModel, Stack, TaskHead
from headatlas.errors import HeadatlasError, ModelError, first_line
from headatlas.models.attention import EAGER, keep_masks_finite
from headatlas.models.facts import home_of
from headatlas.models.inspection import check_weights, compare_with_eager, inspect_heads, observable_modules
from headatlas.models.model import Model, forget_capturing
from headatlas.models.stacks import HeadShape

Head = TypeVar("Head", bound=str)
TASK_HEADS: dict[TaskHead, Mapping[str, str]] = {
    "classification": auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
    "token-classification": auto.MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES,
    "sequence-to-sequence": auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
}
"""The classes of transformers that have each head, by the type of the model."""
LANGUAGE_MODELS: dict[LanguageModel, Mapping[str, str]] = {
    "masked": auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    "causal": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
}
_FEWEST_TOKENS = 10  # ordinary tokens of a usable tokenizer

_log = logging.getLogger(__name__)
one_at_a_time = RLock()


def observe_network(
    network: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    name: str | None = None,
    language_model: LanguageModel | None = None,
    task_head: TaskHead | None = None,
    record: Mapping[str, Any] | None = None,
) -> Model:
    """Observe a network that is in memory, on its device and in its dtype, without changing it.

    A twin is observed: other modules with the same weights. The network itself keeps its train or eval mode, its
    gradients, its attention implementation and its configuration, and its training can continue. The twin follows every
    training step, since both share the weights' memory; call this function again before the next survey, so that the
    record identifies the new weights.

    Args:
        network: Any network of transformers.
        tokenizer: Its tokenizer. Everything that concerns words needs a fast one.
        name: Its name in results; by default the folder or hub name it was loaded from, else its class.
        language_model: "masked" or "causal" if the network has such a head; by default what its class has.
        task_head: "classification", "token-classification" or "sequence-to-sequence"; by default what its class has.
        record: Where the weights come from, for manifests.

    Returns:
        The model, ready to be observed.
    """
    name = name or network.name_or_path or type(network).__name__
    return make_observable(
        _twin(network, name),
        tokenizer,
        name=name,
        language_model=language_model or _head_of_class(network, LANGUAGE_MODELS),
        task_head=task_head or _head_of_class(network, TASK_HEADS),
        record=record,
    )


def _head_of_class(network: PreTrainedModel, heads: Mapping[Head, Mapping[str, str]]) -> Head | None:
    """Return the head that the class of a network has, or a class that it derives from."""
    if network.config.is_encoder_decoder and heads is LANGUAGE_MODELS:
        return None  # it predicts a second text
    classes = {base.__name__ for base in type(network).__mro__}
    return next((head for head, names in heads.items() if classes & set(names.values())), None)


def make_observable(
    network: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    name: str,
    language_model: LanguageModel | None,
    task_head: TaskHead | None,
    record: Mapping[str, Any] | None,
) -> Model:
    """Prepare a network that nobody else uses; see `observe_network`."""
    check_vocabulary(name, network, tokenizer)
    check_weights(network, name)
    network.eval()
    network.config.return_dict = True
    if record is None:
        record = {"kind": "in memory", "weights_sha256": {"in memory": _digest(network, name)}}
    with quiet_transformers():
        uses_interface, shapes, sink = _first_look(network, tokenizer, name)
        weights = None if record.get("random_weights") else record.get("weights_sha256") or record.get("commit")
        fidelity = compare_with_eager(network, tokenizer, name, uses_interface, weights)
    if language_model == "causal" and "decoder" not in shapes:
        _log.warning("%s: its attention reaches the next token, so predicting that token has no meaningful loss.", name)
        language_model = None
    facts: dict[str, Any] = {
        "name": name,
        "class": type(network).__name__,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "observed_through": "attention interface" if uses_interface else "output_attentions",
        "compared_with_eager": fidelity,
    }
    if sink:
        facts["learned_sink"] = True
    return Model(
        name=name,
        network=network,
        tokenizer=tokenizer,
        device=home_of(network),
        dtype=network.dtype,
        language_model=language_model,
        uses_interface=uses_interface,
        source={**record, **facts},
        shapes=shapes,
        task_head=task_head,
        in_tiles=not fidelity.get("in_tiles", {"differs": True})["differs"],
    )


def _twin(network: PreTrainedModel, name: str) -> PreTrainedModel:
    """A copy of a network's modules and configuration that shares its weights and does not train them.

    Weights of special types (quantised ones) are the same objects; they cannot be trained anyway.
    """
    shared: dict[int, Any] = {id(buffer): buffer for buffer in network.buffers()}
    for parameter in network.parameters():
        plain = type(parameter) is nn.Parameter
        shared[id(parameter)] = nn.Parameter(parameter.detach(), requires_grad=False) if plain else parameter
    try:
        twin = copy.deepcopy(network, shared)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ModelError(
            f"{name}: {type(network).__name__} cannot be observed in memory, because its modules cannot be copied "
            f"({first_line(error)}). Save it with save_pretrained and give that folder to load_model."
        ) from error
    forget_capturing(twin)
    return twin


def _digest(network: PreTrainedModel, name: str) -> str:
    """SHA-256 of all weights, so that a survey is never resumed with other weights of the same name."""
    digest = hashlib.sha256()
    for key, tensor in network.state_dict().items():
        if tensor.is_meta:
            raise ModelError(
                f"{name}: some of its weights are not in memory ({key}). Load it with headatlas.load_model(name, "
                "device_map=...) instead."
            )
        digest.update(key.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def check_vocabulary(name: str, network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuse a tokenizer that does not belong to the network."""
    rows = network.get_input_embeddings().weight.shape[0]
    known = set(tokenizer.get_vocab().values())
    if len(known - set(tokenizer.all_special_ids)) < _FEWEST_TOKENS:
        raise ModelError(  # transformers makes an empty tokenizer if the files are missing
            f"{name}: the tokenizer has no vocabulary. The tokenizer files (tokenizer.json) are missing."
        )
    highest = max(known)
    if highest >= rows:
        raise ModelError(
            f"{name}: the tokenizer has ids up to {highest}, but the network knows only {rows} tokens. "
            "The tokenizer files belong to another model."
        )


def _first_look(
    network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str
) -> tuple[bool, dict[Stack, HeadShape], bool]:
    """Whether the attention interface reaches the network, and the result of `inspect_heads`."""
    try:
        uses_interface = _set_attention(network, tokenizer)
        return uses_interface, *inspect_heads(network, tokenizer, name, uses_interface)
    except HeadatlasError:
        raise
    except Exception as error:
        raise ModelError(
            f"{name}: {type(network).__name__} cannot run on {network.device} in {network.dtype} "
            f"({first_line(error)}). Try another --dtype or --device."
        ) from error


def _set_attention(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> bool:
    """Switch to eager attention; return whether it can be observed through the function of the model's file."""
    network.set_attn_implementation(EAGER)
    modules = observable_modules(network, tokenizer)
    if network.dtype == torch.float64:
        for module in modules:
            keep_masks_finite(module)
    return bool(modules)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Hide transformers' warnings and progress bars: whatever matters becomes an error or a note of ours.

    One thread at a time: verbosity is a setting of the whole process, and two threads that load their first models at
    once would lose both models' heads, since the Auto classes import model files without a lock.
    """
    chatter = transformers.utils.logging
    with one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # for the maintainers of peft and similar packages
        level, bars = chatter.get_verbosity(), chatter.is_progress_bar_enabled()
        chatter.set_verbosity_error()
        chatter.disable_progress_bar()
        try:
            yield
        finally:
            chatter.set_verbosity(level)
            if bars:
                chatter.enable_progress_bar()
