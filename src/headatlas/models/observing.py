"""Making a network observable, however it came to be in memory."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
import transformers

from headatlas.encoding.template import require_fast
from headatlas.errors import HeadatlasError, ModelError
from headatlas.models import attention
from headatlas.models.finite import check_weights
from headatlas.models.model import LanguageModel, Model, TaskHead
from headatlas.models.placing import home_of
from headatlas.models.probe import can_use_interface, see_shapes
from headatlas.models.stacks import HeadShape, Stack

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_FEWEST_TOKENS = 10  # ordinary ones, of a tokenizer that can read text

_log = logging.getLogger(__name__)


def observe_network(
    network: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    name: str,
    language_model: LanguageModel | None = None,
    task_head: TaskHead | None = None,
    record: Mapping[str, Any] | None = None,
) -> Model:
    """Make a network observable where it is: on its device, in its dtype. Its weights are frozen from then on.

    language_model: "masked" or "causal" where the network has such a head, for the gradient study.
    task_head: "classification", "token-classification" or "sequence-to-sequence" where it has such a one.
    record: where the weights come from, for manifests.
    """
    require_fast(tokenizer)
    check_vocabulary(name, network, tokenizer)
    check_weights(network, name)
    network.eval().requires_grad_(False)
    with quiet_transformers():
        uses_interface, shapes, sink = _first_look(network, tokenizer, name)
    if language_model == "causal" and "decoder" not in shapes:
        _log.warning("%s: its attention sees the next token, so there is no loss of predicting it.", name)
        language_model = None
    facts: dict[str, Any] = {
        "name": name,
        "class": type(network).__name__,
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "observed_through": "attention interface" if uses_interface else "output_attentions",
    }
    if sink:
        facts["learned_sink"] = True
    if record is None:
        record = {"kind": "in memory", "weights_sha256": {"in memory": _digest(network)}}
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


def _digest(network: PreTrainedModel) -> str:
    """SHA-256 of all weights, so that a survey is never continued with others under the same name."""
    digest = hashlib.sha256()
    for key, tensor in network.state_dict().items():
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
    """Whether the attention interface reaches the network, and what `see_shapes` saw; every failure in words."""
    try:
        uses_interface = _set_attention(network, tokenizer)
        return uses_interface, *see_shapes(network, tokenizer, name, uses_interface)
    except HeadatlasError:
        raise
    except Exception as error:
        raise ModelError(
            f"{name}: {type(network).__name__} cannot run on {network.device} in {network.dtype} "
            f"({first_line(error)}). Try another --dtype or --device."
        ) from error


def _set_attention(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> bool:
    """Switch to our attention function; False where the model's file does not use the interface."""
    attention.register()
    network.set_attn_implementation(attention.NAME)
    if network.config._attn_implementation == attention.NAME:
        if can_use_interface(network, tokenizer):
            return True
        network.set_attn_implementation("eager")
    return False


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep transformers' warnings and bars off the screen: what matters of them becomes an error or a note."""
    chatter = transformers.utils.logging
    level, bars = chatter.get_verbosity(), chatter.is_progress_bar_enabled()
    chatter.set_verbosity_error()
    chatter.disable_progress_bar()
    try:
        yield
    finally:
        chatter.set_verbosity(level)
        if bars:
            chatter.enable_progress_bar()


def first_line(error: BaseException) -> str:
    """An error's own words, as far as they fit into ours."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
