"""Where a network keeps what belongs to each head, and how to cut heads out of it.

A head owns rows of the query, key and value projections and columns of the output projection. Attention modules of
transformers find their heads by the width of a projection over a head's size, so a layer with narrower projections
computes with fewer heads; a few attributes of the module say the number again. No model code is copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headatlas.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Layout:
    """Names in one family's attention block; GPT-2's query, key and value are one projection."""

    query: str
    key: str
    value: str
    output: str
    head_size: str = "head_dim"
    attends: str = ""  # the part of the block that has the attributes; the block itself where empty
    number: str | None = None  # attribute: how many heads
    width: str | None = None  # attribute: how wide they are together


_BERT = Layout(
    query="self.query",
    key="self.key",
    value="self.value",
    output="output.dense",
    attends="self",
    head_size="attention_head_size",
    number="num_attention_heads",
    width="all_head_size",
)
_DISTILBERT = Layout("q_lin", "k_lin", "v_lin", "out_lin", "attention_head_size", number="n_heads")
_ALBERT = Layout(
    "query", "key", "value", "dense", "attention_head_size", number="num_attention_heads", width="all_head_size"
)
_GPT2 = Layout("c_attn", "c_attn", "c_attn", "c_proj", number="num_heads", width="split_size")
_OPT = Layout("q_proj", "k_proj", "v_proj", "out_proj", number="num_heads")
_LLAMA = Layout("q_proj", "k_proj", "v_proj", "o_proj")

LAYOUTS: dict[str, tuple[str, Layout]] = {
    "BertAttention": ("BERT", _BERT),
    "RobertaAttention": ("RoBERTa", _BERT),
    "XLMRobertaAttention": ("XLM-R", _BERT),
    "ElectraAttention": ("ELECTRA", _BERT),
    "DistilBertSelfAttention": ("DistilBERT", _DISTILBERT),
    "AlbertAttention": ("ALBERT", _ALBERT),
    "GPT2Attention": ("GPT-2", _GPT2),
    "OPTAttention": ("OPT", _OPT),
    "LlamaAttention": ("Llama", _LLAMA),
    "MistralAttention": ("Mistral", _LLAMA),
    "Qwen2Attention": ("Qwen2", _LLAMA),
    "Qwen3Attention": ("Qwen3", _LLAMA),
    "Gemma2Attention": ("Gemma 2", _LLAMA),
}
"""Class of transformers' attention block -> its family's name and layout."""


class AttentionBlock:
    """One attention block of a network, with its projections."""

    def __init__(self, module: nn.Module, layout: Layout) -> None:
        self.module, self._layout = module, layout
        self._attends = module.get_submodule(layout.attends)
        self.head_size = int(getattr(self._attends, layout.head_size))
        self.group = int(getattr(self._attends, "num_key_value_groups", 1))  # query heads that share a key and value

    @property
    def heads(self) -> int:
        """How many heads it has now."""
        return _width(self._projection(self._layout.query)) // (3 if self._fused else 1) // self.head_size

    @property
    def parameters_of_a_group(self) -> int:
        """How many numbers belong to the heads that share a key and value."""
        width = self.head_size
        of_inputs = 0
        for name, wide in ((self._layout.query, self.group), (self._layout.key, 1), (self._layout.value, 1)):
            projection = self._projection(name)
            of_inputs += wide * width * (_read_width(projection) + (projection.bias is not None))
        return of_inputs + self.group * width * _width(self._projection(self._layout.output))

    def keep(self, heads: list[int]) -> None:
        """Cut out all heads but these (from 0, rising, whole groups)."""
        layout, before = self._layout, self.heads * self.head_size
        groups = [head // self.group for head in heads[:: self.group]]
        own, shared = _places(heads, self.head_size), _places(groups, self.head_size)
        if self._fused:
            _cut_written(self._projection(layout.query), [part * before + row for part in range(3) for row in own])
        else:
            _cut_written(self._projection(layout.query), own)
            _cut_written(self._projection(layout.key), shared)
            _cut_written(self._projection(layout.value), shared)
        _cut_read(self._projection(layout.output), own)
        if layout.number:
            setattr(self._attends, layout.number, len(heads))
        if layout.width:
            setattr(self._attends, layout.width, len(own))
        if not heads:
            self._do_without_heads()

    def _do_without_heads(self) -> None:
        """Two families' own code stumbles over projections of no width."""
        if self._fused:
            self._attends.split_size = [0, 0, 0]  # type: ignore[assignment]
            output = self._projection(self._layout.output)
            plain = nn.Linear(1, _width(output), device="meta")  # Conv1D cannot read inputs of no width
            plain.weight, plain.bias, plain.in_features = nn.Parameter(output.weight.detach().T), output.bias, 0
            self.module.set_submodule(self._layout.output, plain.requires_grad_(output.weight.requires_grad))
        elif self._layout is _OPT:
            from headatlas.models.opt_without_heads import OPTAttentionWithoutHeads

            self.module.__class__ = OPTAttentionWithoutHeads

    @property
    def _fused(self) -> bool:
        return self._layout.query == self._layout.key

    def _projection(self, name: str) -> nn.Linear:
        return self.module.get_submodule(name)  # type: ignore[return-value]


def attention_blocks(network: PreTrainedModel, name: str) -> list[AttentionBlock]:
    """The attention block of each layer; ALBERT's layers share theirs. ModelError where heads cannot be cut out."""
    config = network.config
    families = ", ".join(family for family, _ in LAYOUTS.values())
    if config.is_encoder_decoder or getattr(config, "add_cross_attention", False):
        raise ModelError(
            f"{name}: {type(network).__name__} attends from a decoder to an encoder; such models cannot be pruned. "
            f"These can: {families}."
        )
    found = [(module, layout) for module in network.modules() if (layout := _layout_of(module)) is not None]
    layers = int(config.get_text_config().num_hidden_layers)
    if found and found[0][1] is _ALBERT and len(found) == config.num_hidden_groups:
        found = [found[layer * len(found) // layers] for layer in range(layers)]
    if len(found) != layers:
        raise ModelError(
            f"{name}: the heads of {type(network).__name__} cannot be cut out. Those of these families can: "
            f"{families}. "
            "For others, `headatlas ablate` and Model.gated remove heads without making the model smaller."
        )
    return [AttentionBlock(module, layout) for module, layout in found]


def _layout_of(module: nn.Module) -> Layout | None:
    for base in type(module).__mro__:
        if base.__name__ in LAYOUTS and base.__module__.startswith("transformers.models."):
            return LAYOUTS[base.__name__][1]
    return None


def _places(units: list[int], size: int) -> list[int]:
    """Rows of units that are so many rows each."""
    return [unit * size + row for unit in units for row in range(size)]


def _width(projection: nn.Linear) -> int:
    """How many numbers a projection writes; Conv1D is a linear projection with its weight turned."""
    return projection.weight.shape[1 if isinstance(projection, Conv1D) else 0]


def _read_width(projection: nn.Linear) -> int:
    return projection.weight.shape[0 if isinstance(projection, Conv1D) else 1]


def _cut_written(projection: nn.Linear, places: list[int]) -> None:
    """Let a projection write only these of its outputs."""
    turned = isinstance(projection, Conv1D)
    projection.weight = _chosen(projection.weight, 1 if turned else 0, places)
    if projection.bias is not None:
        projection.bias = _chosen(projection.bias, 0, places)
    setattr(projection, "nf" if turned else "out_features", len(places))


def _cut_read(projection: nn.Linear, places: list[int]) -> None:
    """Let a projection read only these of its inputs."""
    turned = isinstance(projection, Conv1D)
    projection.weight = _chosen(projection.weight, 0 if turned else 1, places)
    setattr(projection, "nx" if turned else "in_features", len(places))


def _chosen(parameter: Tensor, axis: int, places: list[int]) -> nn.Parameter:
    cut = parameter.detach().index_select(axis, torch.tensor(places, dtype=torch.long, device=parameter.device))
    return nn.Parameter(cut, requires_grad=parameter.requires_grad)
