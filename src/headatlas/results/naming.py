"""The name of a model in reports and pictures, as its manifest describes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headatlas.wording import counted


def model_named(model: Mapping[str, Any]) -> str:
    """The model's name; for an encoder-decoder with the stack that the heads belong to.

    >>> model_named({"name": "t5-small", "encoder_decoder": True, "attention": "decoder"})
    't5-small (decoder)'
    """
    return f"{model['name']}{_stack(model)}"


def short_name(model: Mapping[str, Any]) -> str:
    """The same without the folders of the path."""
    return f"{Path(model['name']).name}{_stack(model)}"


def layers_and_heads(model: Mapping[str, Any]) -> str:
    """The numbers of layers and heads of the stack."""
    return f"{counted(len(model['heads']), 'layer')}, {counted(sum(model['heads']), 'head')}"


def heads_in_layers(model: Mapping[str, Any]) -> str:
    """The same, heads first."""
    return f"{counted(sum(model['heads']), 'head')} in {counted(len(model['heads']), 'layer')}"


def _stack(model: Mapping[str, Any]) -> str:
    """The stack of an encoder-decoder; empty if the model has only one."""
    return f" ({model['attention']})" if model.get("encoder_decoder") else ""
