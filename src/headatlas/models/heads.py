"""Names of heads: `8-10` is layer 8, head 10, both from 1."""

from __future__ import annotations

import re
from collections.abc import Sequence

from headatlas.errors import SettingError
from headatlas.models.stacks import HeadShape


def parse_head(name: str) -> tuple[int, int]:
    """Return the layer and head of a name.

    >>> parse_head("8-10")
    (8, 10)
    """
    match = re.fullmatch(r"([0-9]{1,6})-([0-9]{1,6})", name.strip())
    if match is None:
        raise SettingError(f"'{name}' is not a valid head. Write layer-head, both from 1, for example 8-10.")
    return int(match[1]), int(match[2])


def check_head(layer: int, head: int, shape: HeadShape, model: str) -> None:
    """Refuse a head that the model does not have, and name those that it has."""
    if not 1 <= layer <= shape.layers:
        has = f"{model} has {shape}"
    elif not 1 <= head <= shape.heads[layer - 1]:
        has = f"{model} has {shape}" if len(set(shape.heads)) == 1 else f"that layer has {shape.heads[layer - 1]} heads"
    else:
        return
    raise SettingError(f"There is no head {layer}-{head}: {has}: 1-1 to {shape.layers}-{shape.heads[-1]}.")


def parse_heads(names: Sequence[str], shape: HeadShape, model: str) -> list[tuple[int, int]]:
    """Return layer and head, both from 1, of names such as 8-10; refuse heads that the model does not have."""
    heads = [parse_head(name) for name in names]
    for layer, head in heads:
        check_head(layer, head, shape, model)
    return heads
