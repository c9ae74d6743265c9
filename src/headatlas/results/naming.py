"""The name of a model in reports and pictures, as its manifest describes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headatlas.wording import counted


def model_named(model: Mapping[str, Any]) -> str:
    """A model by the name it was given; an encoder-decoder together with the stack that the heads belong to.

    >>> model_named({"name": "t5-small", "encoder_decoder": True, "attention": "decoder"})
    't5-small (decoder)'
    """
    return f"{model['name']}{_stack(model)}"


def short_name(model: Mapping[str, Any]) -> str:
    """The same without the folders that the model lies in."""
    return f"{Path(model['name']).name}{_stack(model)}"


def layers_and_heads(model: Mapping[str, Any]) -> str:
    """How many layers and heads the stack has."""
    return f"{counted(len(model['heads']), 'layer')}, {counted(sum(model['heads']), 'head')}"


def heads_in_layers(model: Mapping[str, Any]) -> str:
    """The same, heads first."""
    return f"{counted(sum(model['heads']), 'head')} in {counted(len(model['heads']), 'layer')}"


def _stack(model: Mapping[str, Any]) -> str:
    """Which of an encoder-decoder's stacks of heads is meant; nothing where a model has only one."""
    return f" ({model['attention']})" if model.get("encoder_decoder") else ""
