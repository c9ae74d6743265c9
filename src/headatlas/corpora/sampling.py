"""Random choices that are the same on every machine: they depend on the seed and on names alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np

Item = TypeVar("Item")


def stable_hash(text: str) -> int:
    """A number from 0 to 2**64 - 1 that follows from the text alone."""
    return int.from_bytes(_digest(text, 8), "big")


def rng_of(*parts: object) -> np.random.Generator:
    """A generator that depends on these words and numbers alone."""
    import numpy as np  # here, because options are checked without it

    return np.random.default_rng(int.from_bytes(_digest(" ".join(map(str, parts)), 16), "big"))


def draw(
    items: Sequence[Item], count: int | None, seed: int, key: Callable[[Item], object] | None = None
) -> list[Item]:
    """At most `count` items in their original order, every item with the same chance.

    Those with the smallest hashes of seed and key are chosen. So a larger count adds items and removes none, and with
    keys such as ids the choice does not depend on the order of the items: an item added elsewhere can only displace
    the chosen item with the largest hash.

    Args:
        items: What to choose from.
        count: How many items to keep; None keeps all.
        seed: Makes the choice reproducible.
        key: What identifies an item; by default its position.

    Example:
        >>> draw("abcdefgh", 3, seed=0)
        ['c', 'f', 'h']
    """
    if count is None or len(items) <= count:
        return list(items)
    keys = range(len(items)) if key is None else map(key, items)
    hashes = [stable_hash(f"{seed} {name}") for name in keys]
    return [items[place] for place in sorted(nsmallest(count, range(len(items)), key=hashes.__getitem__))]


def _digest(text: str, size: int) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()
