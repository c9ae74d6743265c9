"""Shards: parts of a corpus by the ids of its inputs, the same on every machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from headatlas.corpora.sampling import stable_hash
from headatlas.errors import SettingError

_WRITTEN = re.compile(r"(\d{1,9})/(\d{1,9})")


class _Named(Protocol):
    @property
    def id(self) -> str: ...


Input = TypeVar("Input", bound=_Named)


@dataclass(frozen=True)
class Shard:
    """One of several shards, numbered from 1.

    >>> str(Shard.parse("2/8"))
    '2/8'
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "i/n"."""
        numbers = _WRITTEN.fullmatch(text)
        if not numbers or not 1 <= int(numbers[1]) <= int(numbers[2]):
            raise SettingError(f"--shard {text} is not valid. Write i/n, such as 2/8 for the second of eight shards.")
        return cls(int(numbers[1]), int(numbers[2]))

    def holds(self, name: str) -> bool:
        """Whether the input of that id is in this shard."""
        return stable_hash(name) % self.of == self.number - 1

    def of_segments(self, segments: Sequence[Input]) -> list[Input]:
        """The segments of this shard, in their order."""
        return [segment for segment in segments if self.holds(segment.id)]

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"
