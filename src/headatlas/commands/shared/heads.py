"""Heads that people name in options."""

from __future__ import annotations

from collections.abc import Sequence

from headatlas.models.heads import check_head, parse_head
from headatlas.models.stacks import HeadShape


def parse_heads(names: Sequence[str], shape: HeadShape, model: str) -> list[tuple[int, int]]:
    """Return layer and head, both from 1, of names such as 8-10; refuse heads that the model does not have."""
    heads = [parse_head(name) for name in names]
    for layer, head in heads:
        check_head(layer, head, shape, model)
    return heads
