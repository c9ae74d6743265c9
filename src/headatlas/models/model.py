"""A model ready to be observed: the network, its tokenizer, and the shape of its heads."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

from headatlas.choices import LanguageModel, Stack, TaskHead
from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import KindTable, kind_table
from headatlas.encoding.masking import Masker
from headatlas.errors import ModelError, SettingError
from headatlas.models.attention import changing, cutting, observing
from headatlas.models.gates import Attend, ChangeOutput, Cuts, Gates, Instead
from headatlas.models.language_model import masked_lm_loss, next_token_loss
from headatlas.models.stacks import HeadShape, StackNames, maps_in_outputs, states_in_outputs

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_log = logging.getLogger(__name__)

SeeMap = Callable[[int, Tensor, Tensor | None], None]
"""Called with the layer (from 0), a map [B, H, Q, K], and the additive mask it was computed with, or None."""


class Observable(Protocol):
    """Anything whose attention can be observed: a model, or maps that were stored."""

    @property
    def name(self) -> str: ...
    @property
    def device(self) -> torch.device: ...
    @property
    def shapes(self) -> dict[Stack, HeadShape]: ...
    @property
    def default_stack(self) -> Stack: ...
    @property
    def pad_id(self) -> int: ...
    def observe(self, batch: Batch, see: SeeMap, stack: Stack | None = None) -> None: ...


@dataclass
class Model:
    """A network with its tokenizer, ready to be observed. Made by `load_model` or `observe_network`."""

    name: str
    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    device: torch.device
    dtype: torch.dtype
    language_model: LanguageModel | None  # the language model head that comes with the weights, if any
    uses_interface: bool  # observed through its file's eager attention function; else through output_attentions
    source: dict[str, Any] = field(default_factory=dict)  # where the weights come from, for the manifest
    shapes: dict[Stack, HeadShape] = field(default_factory=dict)
    task_head: TaskHead | None = None  # a head for a task other than language modelling

    def __getstate__(self) -> dict[str, Any]:
        """What another process gets: the fields, without cached properties."""
        forget_capturing(self.network)
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def _stacks(self) -> StackNames:
        return StackNames(self.network, None if self.is_encoder_decoder else self.default_stack)

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether the model has an encoder and a decoder."""
        return bool(self.network.config.is_encoder_decoder)

    @property
    def default_stack(self) -> Stack:
        """The stack that is observed if none is named."""
        return "encoder" if "encoder" in self.shapes else "decoder"

    def choose_stack(self, stack: Stack | None) -> Stack:
        """Return the given stack or the default; refuse cross attention, which lies between two texts."""
        chosen = stack or self.default_stack
        if chosen == "cross":
            raise SettingError(
                "Cross attention lies between two texts, but this command describes attention within one. "
                "Use --attention encoder or decoder. In Python, model.observe(batch, see, 'cross') gives its maps."
            )
        return self.require_stack(chosen)

    def require_stack(self, stack: Stack) -> Stack:
        """Return the stack, or raise SettingError if the model does not have it."""
        if stack not in self.shapes:
            raise SettingError(f"{self.name} has no {stack} attention, only {', '.join(self.shapes)}.")
        return stack

    @property
    def pad_id(self) -> int:
        """The id that fills batches.

        The network's comes before the tokenizer's: some networks search for it in their input, to number positions
        (RoBERTa) or to find the last token of a text (classifiers over decoders). Otherwise any id will do, since it is
        masked.
        """
        pad_id = getattr(self.network.config.get_text_config(), "pad_token_id", None)
        if pad_id is not None and 0 <= pad_id < self.network.get_input_embeddings().weight.shape[0]:
            return int(pad_id)
        return int(self.tokenizer.pad_token_id or 0)

    @cached_property
    def kinds(self) -> KindTable:
        """The kind of every token of its tokenizer."""
        return kind_table(self.tokenizer)

    @property
    def longest_input(self) -> int | None:
        """How many tokens the model's positions allow, or None without a limit."""
        return longest_input(self.network, self.tokenizer)

    @property
    def heads_per_key(self) -> int:
        """How many heads share their keys and values; 1 if each has its own, or if layers differ."""
        modules = self.network.modules()
        shares = {module.num_key_value_groups for module in modules if hasattr(module, "num_key_value_groups")}
        return int(shares.pop()) if len(shares) == 1 else 1

    @property
    def width(self) -> int:
        """Size of a hidden state."""
        return int(self.network.config.get_text_config().hidden_size)

    def observe(
        self,
        batch: Batch,
        see: SeeMap,
        stack: Stack | None = None,
        see_states: Callable[[Sequence[Tensor]], None] | None = None,
    ) -> None:
        """Run a batch once without gradients and hand over each layer's attention maps as they arise.

        In an encoder-decoder, the decoder reads the same tokens as the encoder.

        Args:
            batch: The segments to run.
            see: Called with every layer's maps; see `SeeMap`.
            stack: Whose maps; by default the encoder's if there is one.
            see_states: Called at the end with that stack's hidden states, each [B, T, D]: the embeddings, then every
                layer. By default they are not kept.
        """
        wanted = stack or self.default_stack
        network = self.network.base_model
        if self.is_encoder_decoder and wanted == "encoder":
            network = self.network.get_encoder()
        inputs = self.network_inputs(batch.input_ids, batch.mask.long(), batch.type_ids, network)
        if self.is_encoder_decoder and wanted != "encoder":
            inputs |= {"decoder_input_ids": inputs["input_ids"], "decoder_attention_mask": inputs["attention_mask"]}
        if see_states is not None:
            inputs["output_hidden_states"] = True
        with torch.inference_mode():
            outputs = self._run(network, inputs, see, wanted)
        if see_states is not None:
            states = states_in_outputs(outputs, wanted)
            if len(states) != self.shapes[wanted].layers + 1:
                raise ModelError(f"{self.name}: its {wanted} does not return the hidden states of all layers.")
            see_states(states)

    def observe_gradients(self, batch: Batch, see: SeeMap, masker: Masker | None) -> None:
        """Differentiate the language model loss of a batch and hand over dL/da of each layer's maps, last layer first.

        Each segment's maps get the gradient of that segment's mean loss. A masked language model needs `masker`.
        """
        if self.language_model is None:
            raise ModelError(f"{self.name} has no language model head, so there is no loss to differentiate.")
        if (masker is None) == (self.language_model == "masked"):
            raise ValueError(
                f"a {self.language_model} language model is observed {'with' if masker is None else 'without'} a masker"
            )
        masked = masker(batch) if masker is not None else None
        inputs = self.inputs(batch, None if masked is None else masked.input_ids)

        def hook(layer: int, weights: Any, mask: Tensor | None) -> None:
            weights.register_hook(lambda gradient: see(layer, gradient, mask))

        embeddings = self.network.get_input_embeddings()
        start = embeddings.register_forward_hook(lambda _module, _inputs, output: output.requires_grad_(True))
        try:
            with torch.enable_grad():
                outputs = self._run(self.network, inputs, hook, self.default_stack)
                if masked is None:
                    loss = next_token_loss(outputs.logits, batch.input_ids, batch.mask)
                else:
                    loss = masked_lm_loss(outputs.logits, masked.labels)
                torch.autograd.backward(loss)
        finally:
            start.remove()

    def inputs(self, batch: Batch, input_ids: Tensor | None = None) -> dict[str, Any]:
        """What the network is called with for a batch; `input_ids` replace those of the batch, if some are masked."""
        input_ids = batch.input_ids if input_ids is None else input_ids
        return self.network_inputs(input_ids, batch.mask.long(), batch.type_ids)

    def gated(
        self, gates: Tensor, instead: Instead | None = None, stack: Stack | None = None
    ) -> AbstractContextManager[None]:
        """Within this context each head's output of one stack is multiplied by its gate, in every pass of the network.

        Args:
            gates: [L, H], or [B, L, H] for separate gates per input; 1 leaves a head as it is, 0 removes it. Gradients
                flow to them. A layer with fewer heads than others reads the first of its row.
            instead: Replaces what a gate shuts off, by default by nothing; see `gates.Instead`.
            stack: Whose heads; by default the encoder's if there is one.
        """
        return self.changing_outputs(Gates(gates, instead, self.shapes[stack or self.default_stack]), stack)

    def changing_outputs(
        self, change: ChangeOutput, stack: Stack | None = None, first_layer: int = 0
    ) -> AbstractContextManager[None]:
        """Within this context `change` replaces each layer's head outputs before they are projected.

        Args:
            change: What replaces them; `Cuts` act already before the softmax.
            stack: Whose heads; by default the encoder's if there is one.
            first_layer: Where passes within the context start, if not at the first layer.
        """
        if not self.uses_interface:
            raise ModelError(
                f"{self.name}: {type(self.network).__name__} does not use transformers' attention interface, so its "
                "heads can be observed but not gated or removed."
            )
        wanted = stack or self.default_stack
        running = self.shapes[wanted].layers - first_layer
        calls = 0

        def next_layer() -> int:
            nonlocal calls
            calls += 1
            return first_layer + (calls - 1) % running

        def changed(module: nn.Module, output: Tensor) -> Tensor:
            return change(next_layer(), output) if self._stacks(module) == wanted else output

        def cut(module: nn.Module, query: Tensor, mask: Tensor | None, attend: Attend) -> tuple[Tensor, Tensor]:
            if self._stacks(module) != wanted or not isinstance(change, Cuts):
                return attend(mask)
            return change.attend(next_layer(), query, mask, attend)

        return cutting(self.network, cut) if isinstance(change, Cuts) else changing(self.network, changed)

    def network_inputs(
        self, input_ids: Tensor, mask: Tensor, type_ids: Tensor, network: nn.Module | None = None
    ) -> dict[str, Any]:
        """What the network (or a part of it) is called with; tensors are [B, T], mask 1 on real tokens."""
        accepted = inspect.signature(type(network or self.network.base_model).forward).parameters
        inputs: dict[str, Any] = {"input_ids": input_ids, "attention_mask": mask}
        if getattr(self.network.config, "type_vocab_size", 0) > 1 and "token_type_ids" in accepted:
            inputs["token_type_ids"] = type_ids
        if "use_cache" in accepted:
            inputs["use_cache"] = False
        return inputs

    def _run(self, network: nn.Module, inputs: dict[str, Any], see: SeeMap, wanted: Stack) -> Any:
        """Run and hand over the maps of one stack. Layers are counted, since not every module knows its number."""
        layers = 0

        def see_next(weights: Tensor, mask: Tensor | None) -> None:
            nonlocal layers
            layers += 1
            see(layers - 1, weights, mask)

        def see_module(module: nn.Module, weights: Tensor, mask: Tensor | None) -> None:
            if self._stacks(module) == wanted:
                see_next(weights, mask)

        if self.uses_interface:
            with observing(self.network, see_module):
                outputs = network(**inputs)
        else:
            outputs = network(**inputs, output_attentions=True)
            for weights in maps_in_outputs(outputs, wanted):
                see_next(weights, None)
        if layers != self.shapes[wanted].layers:
            raise ModelError(
                f"{self.name}: saw the attention of {layers} {wanted} layers out of {self.shapes[wanted].layers}. "
                "This architecture cannot be observed completely, so nothing is reported."
            )
        return outputs


def forget_capturing(network: nn.Module) -> None:
    """Remove the hooks that transformers adds to capture hidden states: they cannot be sent to another process.

    transformers adds them again when it needs them.
    """
    for module in network.modules():
        for key, hook in list(module._forward_hooks.items()):
            if hook.__module__ == "transformers.utils.output_capturing":
                del module._forward_hooks[key]
        module.__dict__.pop("_output_capturing_hooks_installed", None)


def home_of(network: PreTrainedModel) -> torch.device:
    """The device of the inputs: the network's device, or the first GPU of its device map."""
    placed = (getattr(network, "hf_device_map", None) or {}).values()
    if not placed:
        return torch.device(network.device)
    devices = [device for device in placed if str(device) not in ("cpu", "disk")]
    return torch.device(devices[0]) if devices else torch.device("cpu")


def longest_input(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """How many tokens a network's positions and its tokenizer allow, or None without a limit."""
    positions = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    limits = [tokenizer.model_max_length]
    if positions is not None and positions > 0:  # XLNet says -1
        padding = getattr(_position_table(network), "padding_idx", None)
        limits.append(positions if padding is None else positions - padding - 1)
    shortest = min(limits)
    return int(shortest) if shortest < 10**9 else None


def check_length(max_tokens: int, network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    """Refuse inputs longer than a model's positions allow; warn where positions that are computed go on.

    Rotary positions have no last one, but what attention does beyond those of training is an extrapolation.
    """
    longest = longest_input(network, tokenizer)
    if longest is None or max_tokens <= longest:
        return
    if getattr(network.config.get_text_config(), "rope_parameters", None) is None:
        raise SettingError(
            f"--max-tokens {max_tokens} is more than the {longest} positions of {name}. Use at most {longest}."
        )
    _log.warning(
        "--max-tokens %d is more than the %d positions that %s was made for. Its positions can be computed further, "
        "but its attention beyond them is an extrapolation.",
        max_tokens,
        longest,
        name,
    )


def _position_table(network: nn.Module) -> nn.Module | None:
    """The embedding of absolute positions; RoBERTa and its relatives number positions from the padding index."""
    for name, module in network.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return module
    return None


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
