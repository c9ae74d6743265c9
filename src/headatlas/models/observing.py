"""Making a network observable, however it came to be in memory."""

from __future__ import annotations

import copy
import hashlib
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any

import torch
import transformers
from torch import nn

from headatlas.choices import LanguageModel, Stack, TaskHead
from headatlas.errors import HeadatlasError, ModelError, first_line
from headatlas.models.attention import EAGER, keep_masks_finite
from headatlas.models.inspection import check_weights, compare_with_eager, inspect_heads, observable_modules
from headatlas.models.model import Model, forget_capturing
from headatlas.models.placing import home_of
from headatlas.models.stacks import HeadShape

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_FEWEST_TOKENS = 10  # ordinary ones, of a tokenizer that can read text

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

    What is observed is a twin: other modules over the same weights. The network itself keeps its train or eval mode,
    its gradients, its attention implementation and its configuration, and can go on being trained. The twin sees every
    training step, since the weights are the same memory; call this function again before the next survey, so that its
    record names the new weights.

    Args:
        network: Any network of transformers.
        tokenizer: Its tokenizer; a fast one, unless only whole texts are of interest and never words.
        name: What results call it; by default the folder or hub name it was loaded from, else its class.
        language_model: "masked" or "causal" if the network has such a head, for the gradient study.
        task_head: "classification", "token-classification" or "sequence-to-sequence" if it has such a head.
        record: Where the weights come from, for manifests.
    """
    name = name or network.name_or_path or type(network).__name__
    return make_observable(
        _twin(network, name), tokenizer, name=name, language_model=language_model, task_head=task_head, record=record
    )


def make_observable(
    network: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    name: str,
    language_model: LanguageModel | None,
    task_head: TaskHead | None,
    record: Mapping[str, Any] | None,
) -> Model:
    """Set up a network that is ours alone; see `observe_network`."""
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
        _log.warning("%s: its attention sees the next token, so there is no loss of predicting it.", name)
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
    source = {**record, **facts}
    return Model(
        name,
        network,
        tokenizer,
        home_of(network),
        network.dtype,
        language_model,
        uses_interface,
        source,
        shapes,
        task_head,
    )


def _twin(network: PreTrainedModel, name: str) -> PreTrainedModel:
    """A copy of a network with modules and configuration of its own, over the same weights, which it does not train.

    Weights of other types than torch's own (quantised ones) are the same objects; they cannot be trained anyway.
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
    """SHA-256 of all weights, so that a survey is never continued with others under the same name."""
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
    """Tokenizer and network must belong together."""
    rows = network.get_input_embeddings().weight.shape[0]
    known = set(tokenizer.get_vocab().values())
    if len(known - set(tokenizer.all_special_ids)) < _FEWEST_TOKENS:
        raise ModelError(  # transformers makes an empty tokenizer where the files are missing
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
    """Whether the attention interface reaches the network, and what `inspect_heads` saw; every failure in words."""
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
    """Switch to eager attention; False where the model's file has no function for it that can be listened to."""
    network.set_attn_implementation(EAGER)
    modules = observable_modules(network, tokenizer)
    if network.dtype == torch.float64:
        for module in modules:
            keep_masks_finite(module)
    return bool(modules)


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep transformers' warnings and bars off the screen: what matters of them becomes an error or a note.

    One thread at a time: how loud transformers is holds for the whole process, and two threads that load their first
    models at once would lose both models' heads, as its Auto classes import model files without a lock.
    """
    chatter = transformers.utils.logging
    with one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # to those who maintain peft and the like
        level, bars = chatter.get_verbosity(), chatter.is_progress_bar_enabled()
        chatter.set_verbosity_error()
        chatter.disable_progress_bar()
        try:
            yield
        finally:
            chatter.set_verbosity(level)
            if bars:
                chatter.enable_progress_bar()
