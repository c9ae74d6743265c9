"""Where a network keeps the weights of each head, and how to cut heads out of it.

A head owns rows of the query, key and value projections and columns of the output projection. Attention modules of
transformers derive the number of heads from the width of a projection and the size of a head, so a layer with narrower
projections computes with fewer heads; a few attributes of the module repeat that number. No model code is copied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, PreTrainedModel
from transformers.pytorch_utils import Conv1D

from headatlas.errors import ModelError

WRITTEN, READ = 0, 1  # the outputs and the inputs of a projection, by the dimension of a linear layer's weight


@dataclass(frozen=True)
class Layout:
    """Names in one family's attention block; GPT-2's query, key and value are one projection."""

    query: str
    key: str
    value: str
    output: str
    head_size: str = "head_dim"
    attends: str = ""  # the part of the block that has the attributes; the block itself if empty
    number: str | None = None  # attribute with the number of heads
    width: str | None = None  # attribute with the width of all heads together


_ALBERT = Layout(
    "query", "key", "value", "dense", "attention_head_size", number="num_attention_heads", width="all_head_size"
)
_BERT = replace(_ALBERT, query="self.query", key="self.key", value="self.value", output="output.dense", attends="self")
_DISTILBERT = Layout("q_lin", "k_lin", "v_lin", "out_lin", "attention_head_size", number="n_heads")
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
"""Family and layout of each class of attention block in transformers."""


class AttentionBlock:
    """One attention block of a network, with its projections."""

    def __init__(self, module: nn.Module, layout: Layout) -> None:
        self.module, self._layout = module, layout
        self._attends: Any = module.get_submodule(layout.attends)
        self.head_size = int(getattr(self._attends, layout.head_size))
        self.group = int(getattr(self._attends, "num_key_value_groups", 1))  # query heads that share a key and value

    @property
    def heads(self) -> int:
        """Current number of heads."""
        return _size(self._projection(self._layout.query), WRITTEN) // (3 if self._fused else 1) // self.head_size

    @property
    def parameters_of_a_group(self) -> int:
        """Number of parameters of the heads that share a key and value."""
        rows = self.group * _size(self._projection(self._layout.output), WRITTEN)
        for name, heads in ((self._layout.query, self.group), (self._layout.key, 1), (self._layout.value, 1)):
            projection = self._projection(name)
            rows += heads * (_size(projection, READ) + (projection.bias is not None))
        return rows * self.head_size

    def keep(self, heads: list[int]) -> None:
        """Cut out all heads but these (from 0, rising, whole groups)."""
        layout, before = self._layout, self.heads * self.head_size
        groups = [head // self.group for head in heads[:: self.group]]
        head_rows, group_rows = _rows(heads, self.head_size), _rows(groups, self.head_size)
        if self._fused:
            fused_rows = [part * before + row for part in range(3) for row in head_rows]
            _cut(self._projection(layout.query), WRITTEN, fused_rows)
        else:
            _cut(self._projection(layout.query), WRITTEN, head_rows)
            _cut(self._projection(layout.key), WRITTEN, group_rows)
            _cut(self._projection(layout.value), WRITTEN, group_rows)
        _cut(self._projection(layout.output), READ, head_rows)
        if layout.number:
            setattr(self._attends, layout.number, len(heads))
        if layout.width:
            setattr(self._attends, layout.width, len(head_rows))
        if not heads:
            self._do_without_heads()

    def _do_without_heads(self) -> None:
        """Adapt the two families whose code fails on projections of width 0."""
        if self._fused:
            self._attends.split_size = [0, 0, 0]
            output = self._projection(self._layout.output)
            plain = nn.Linear(1, _size(output, WRITTEN), device="meta")  # Conv1D cannot read inputs of width 0
            plain.weight, plain.bias, plain.in_features = nn.Parameter(output.weight.detach().T), output.bias, 0
            self.module.set_submodule(self._layout.output, plain.requires_grad_(output.weight.requires_grad))
        elif self._layout is _OPT:
            base = type(self.module)
            self.module.__class__ = type(f"{base.__name__}WithoutHeads", (base,), {"forward": _forward_without_heads})

    @property
    def _fused(self) -> bool:
        return self._layout.query == self._layout.key

    def _projection(self, name: str) -> nn.Linear:
        module: Any = self.module
        projection: nn.Linear = module.get_submodule(name)  # in GPT-2 a Conv1D
        return projection


def attention_blocks(network: PreTrainedModel, name: str) -> list[AttentionBlock]:
    """The attention block of each layer; ALBERT's layers share theirs. ModelError if heads cannot be cut out."""
    config = network.config
    families = ", ".join(family for family, _ in LAYOUTS.values())
    if config.is_encoder_decoder or getattr(config, "add_cross_attention", False):
        raise ModelError(
            f"{name}: {type(network).__name__} attends from a decoder to an encoder; such models cannot be pruned. "
            f"These can: {families}."
        )
    blocks = [
        AttentionBlock(module, layout) for module in network.modules() if (layout := _layout_of(module)) is not None
    ]
    layers = int(config.get_text_config().num_hidden_layers)
    if config.model_type == "albert" and len(blocks) == config.num_hidden_groups:
        blocks = [blocks[layer * len(blocks) // layers] for layer in range(layers)]
    if len(blocks) != layers:
        raise ModelError(
            f"{name}: the heads of {type(network).__name__} cannot be cut out. Supported families: {families}. "
            "For others, `headatlas ablate` and Model.gated remove heads without making the model smaller."
        )
    return blocks


def _layout_of(module: nn.Module) -> Layout | None:
    for base in type(module).__mro__:
        if base.__name__ in LAYOUTS and base.__module__.startswith("transformers.models."):
            return LAYOUTS[base.__name__][1]
    return None


def _forward_without_heads(
    self: Any, hidden_states: Tensor, past_key_values: Any = None, attention_mask: Tensor | None = None, **kwargs: Any
) -> tuple[Tensor, Tensor | None]:
    """OPT's attention without heads: its output is the bias of the output projection, its maps are [B, 0, Q, K].

    OPT's own forward infers the number of tokens from the size of its projections, which is 0 then.
    """
    from transformers.models.opt import modeling_opt

    batch, tokens, _ = hidden_states.shape
    empty = hidden_states.new_empty(batch, 0, tokens, self.head_dim)
    keys = values = empty
    if past_key_values is not None:
        keys, values = past_key_values.update(empty, empty, self.layer_idx)
    eager = modeling_opt.eager_attention_forward  # looked up now, since an observed network replaces it
    attend = ALL_ATTENTION_FUNCTIONS.get_interface(self.config._attn_implementation, eager)
    output, weights = attend(self, empty, keys, values, attention_mask, dropout=0.0, scaling=1.0, **kwargs)
    return self.out_proj(output.reshape(batch, tokens, 0)), weights


def _rows(units: list[int], size: int) -> list[int]:
    """Rows of units that have `size` rows each."""
    return [unit * size + row for unit in units for row in range(size)]


def _axis(projection: nn.Linear, side: int) -> int:
    """The dimension of a projection's weight; Conv1D is a linear projection with a transposed weight."""
    return 1 - side if isinstance(projection, Conv1D) else side


def _size(projection: nn.Linear, side: int) -> int:
    return projection.weight.shape[_axis(projection, side)]


def _cut(projection: nn.Linear, side: int, places: list[int]) -> None:
    """Keep only these outputs or inputs of a projection."""
    projection.weight = _chosen(projection.weight, _axis(projection, side), places)
    if side == WRITTEN and projection.bias is not None:
        projection.bias = _chosen(projection.bias, 0, places)
    names = ("nf", "nx") if isinstance(projection, Conv1D) else ("out_features", "in_features")
    setattr(projection, names[side], len(places))


def _chosen(parameter: Tensor, axis: int, places: list[int]) -> nn.Parameter:
    cut = parameter.detach().index_select(axis, torch.tensor(places, dtype=torch.long, device=parameter.device))
    return nn.Parameter(cut, requires_grad=parameter.requires_grad)
