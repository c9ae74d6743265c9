"""Which examples of a corpus are scored, where there are more than are asked for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from headatlas.commands.ablate.settings import AblationSettings


class _Named(Protocol):
    @property
    def id(self) -> str: ...


N = TypeVar("N", bound=_Named)


def sample_of(items: Sequence[N], settings: AblationSettings) -> list[N]:
    """At most so many examples as are asked for, drawn by the seed, in their order."""
    if len(items) <= settings.examples:
        return list(items)
    places = random.Random(f"{settings.seed} examples").sample(range(len(items)), settings.examples)
    return [items[place] for place in sorted(places)]
