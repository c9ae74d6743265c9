"""A model ready to be observed: the network, its tokenizer, and the shape of its heads."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

from headatlas.choices import LanguageModel, Stack, TaskHead
from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import KindTable, kind_table
from headatlas.encoding.masking import Masker
from headatlas.errors import ModelError, SettingError
from headatlas.models.attention import answering, changing, cutting, ending, observing, recomputing, tiling
from headatlas.models.facts import longest_input
from headatlas.models.gates import Attend, ChangeOutput, Cuts, Gates, Instead
from headatlas.models.language_model import differentiate_loss, next_tokens
from headatlas.models.stacks import HeadShape, StackNames, maps_in_outputs, states_in_outputs
from headatlas.models.tiled import DroppedTiles, GradientTiles, LayerSink
from headatlas.progress import moved
from headatlas.wording import counted

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


SeeMap = Callable[[int, Tensor, Tensor | None], None]
"""Called with the layer (from 0), a map [B, H, Q, K], and the additive mask it was computed with, or None."""

OpenLayer = Callable[[int, Tensor], LayerSink]
"""Called with the layer (from 0) and its queries [B, H, Q, D]; returns what takes the layer's tiles."""


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
    in_tiles: bool = False  # its attention can be computed in tiles, which give what the whole gives

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
    def computed_in(self) -> str:
        """How its attention is computed if nobody needs whole maps, in words."""
        if not self.in_tiles:
            return "whole maps"
        layers = self.source["compared_with_eager"]["in_tiles"]["layers"]
        if len(layers) == 1:
            return str(*layers)
        return ", ".join(f"{path} ({counted(number, 'layer')})" for path, number in layers.items())

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

        The pass ends with the last layer's attention unless states are wanted. In an encoder-decoder, the decoder reads
        the same tokens as the encoder.

        Args:
            batch: The segments to run.
            see: Called with every layer's maps; see `SeeMap`.
            stack: Whose maps; by default the encoder's if there is one.
            see_states: Called at the end with that stack's hidden states, each [B, T, D]: the embeddings, then every
                layer. By default they are not kept.
        """
        wanted = stack or self.default_stack
        network, inputs = self._part_to_run(batch, wanted)
        if see_states is not None:
            inputs["output_hidden_states"] = True
        with torch.inference_mode(), self._until_last_layer(wanted) if see_states is None else nullcontext():
            outputs = self._run(network, inputs, see, wanted)
        if see_states is not None:
            states = states_in_outputs(outputs, wanted)
            if len(states) != self.shapes[wanted].layers + 1:
                raise ModelError(f"{self.name}: its {wanted} does not return the hidden states of all layers.")
            see_states(states)

    def observe_tiles(self, batch: Batch, open_layer: OpenLayer, stack: Stack | None = None) -> None:
        """Run a batch once without gradients, and give each layer's attention to a sink in blocks of rows.

        Args:
            batch: The segments to run.
            open_layer: Called with every layer; see `OpenLayer`.
            stack: Whose layers; by default the encoder's if there is one.
        """
        wanted = stack or self.default_stack
        with torch.inference_mode(), self._until_last_layer(wanted):
            self._run_tiles(batch, *self._part_to_run(batch, wanted), open_layer, wanted)

    def _run_tiles(
        self, batch: Batch, network: nn.Module, inputs: dict[str, Any], open_layer: OpenLayer, wanted: Stack
    ) -> Any:
        """Run in tiles, and let sinks take those of one stack."""
        lengths, layers = [len(segment) for segment in batch.segments], 0

        def open_sink(module: nn.Module, query: Tensor) -> LayerSink:
            nonlocal layers
            if self._stacks(module) != wanted:
                return DroppedTiles(lengths)
            layers += 1
            moved()
            return open_layer(layers - 1, query)

        with tiling(self.network, open_sink):
            outputs = network(**inputs)
        self._check_layers(layers, wanted)
        return outputs

    def _part_to_run(self, batch: Batch, wanted: Stack) -> tuple[nn.Module, dict[str, Any]]:
        """The part of the network that computes a stack, and what it is called with."""
        network = self.network.base_model
        if self.is_encoder_decoder and wanted == "encoder":
            network = self.network.get_encoder()
        inputs = self.network_inputs(batch.input_ids, batch.mask.long(), batch.type_ids, network)
        if self.is_encoder_decoder and wanted != "encoder":
            inputs |= {"decoder_input_ids": inputs["input_ids"], "decoder_attention_mask": inputs["attention_mask"]}
        return network, inputs

    def observe_gradients(self, batch: Batch, see: SeeMap, masker: Masker | None) -> None:
        """Differentiate the language model loss of a batch and hand over dL/da of each layer's maps, last layer first.

        Each segment's maps get the gradient of that segment's mean loss. A masked language model needs `masker`.
        """

        def hook(layer: int, weights: Any, mask: Tensor | None) -> None:
            weights.register_hook(lambda gradient: see(layer, gradient, mask))
            moved()

        self._differentiate(batch, masker, lambda inputs: self._run(self.network, inputs, hook, self.default_stack))

    def observe_gradient_tiles(self, batch: Batch, open_layer: OpenLayer, masker: Masker | None) -> None:
        """The same in tiles: layers and tiles are computed once more on the way back, so that no map exists as a whole.

        A tile leaves out columns that none of its rows sees.
        """
        lengths = [len(segment) for segment in batch.segments]

        def run(inputs: dict[str, Any]) -> Any:
            open_deferred = partial(GradientTiles, open_layer, lengths)
            with recomputing(self.network, lengths):
                return self._run_tiles(batch, self.network, inputs, open_deferred, self.default_stack)

        self._differentiate(batch, masker, run)

    def _differentiate(self, batch: Batch, masker: Masker | None, run: Callable[[dict[str, Any]], Any]) -> None:
        """Differentiate the loss of a pass."""
        if self.language_model is None:
            raise ModelError(f"{self.name} has no language model head, so there is no loss to differentiate.")
        if (masker is None) == (self.language_model == "masked"):
            raise ValueError(
                f"a {self.language_model} language model is observed {'with' if masker is None else 'without'} a masker"
            )
        masked = masker(batch) if masker is not None else None
        inputs = self.inputs(batch, None if masked is None else masked.input_ids)
        embeddings = self.network.get_input_embeddings()
        start = embeddings.register_forward_hook(lambda _module, _inputs, output: output.requires_grad_(True))
        try:
            with torch.enable_grad():
                labels = next_tokens(batch) if masked is None else masked.labels
                differentiate_loss(self.network, lambda: run(inputs), inputs, labels)
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

    @contextmanager
    def changing_outputs(
        self,
        change: ChangeOutput,
        stack: Stack | None = None,
        first_layer: int = 0,
        known: Callable[[int], Tensor | None] | None = None,
    ) -> Iterator[None]:
        """Within this context `change` replaces each layer's head outputs before they are projected.

        Args:
            change: What replaces them; `Cuts` act already before the softmax.
            stack: Whose heads; by default the encoder's if there is one.
            first_layer: Where passes within the context start, if not at the first layer.
            known: The head outputs of a layer that need not attend, before they are changed; None of all others.
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
            moved()
            calls += 1
            return first_layer + (calls - 1) % running

        def changed(module: nn.Module, output: Tensor) -> Tensor:
            return change(next_layer(), output) if self._stacks(module) == wanted else output

        def cut(module: nn.Module, query: Tensor, mask: Tensor | None, attend: Attend) -> tuple[Tensor, Tensor]:
            if self._stacks(module) != wanted or not isinstance(change, Cuts):
                return attend(mask)
            return change.attend(next_layer(), query, mask, attend)

        def answer(module: nn.Module) -> Tensor | None:
            return known(first_layer + calls % running) if known and self._stacks(module) == wanted else None

        acting = cutting(self.network, cut) if isinstance(change, Cuts) else changing(self.network, changed)
        with acting, answering(self.network, answer) if known else nullcontext():
            yield

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
        self._check_layers(layers, wanted)
        return outputs

    def _until_last_layer(self, stack: Stack) -> AbstractContextManager[None]:
        """Within this context a pass ends when the last layer of a stack has attended, and the context with it."""
        if not self.uses_interface:
            return nullcontext()
        layers, attended = self.shapes[stack].layers, count(1)
        return ending(self.network, lambda module: self._stacks(module) == stack and next(attended) == layers)

    def _check_layers(self, layers: int, stack: Stack) -> None:
        if layers != self.shapes[stack].layers:
            raise ModelError(
                f"{self.name}: saw the attention of {layers} {stack} layers out of {self.shapes[stack].layers}. "
                "This architecture cannot be observed completely, so nothing is reported."
            )


def forget_capturing(network: nn.Module) -> None:
    """Remove the hooks that transformers adds to capture hidden states: they cannot be sent to another process.

    transformers adds them again when it needs them.
    """
    for module in network.modules():
        for key, hook in list(module._forward_hooks.items()):
            if hook.__module__ == "transformers.utils.output_capturing":
                del module._forward_hooks[key]
        module.__dict__.pop("_output_capturing_hooks_installed", None)
