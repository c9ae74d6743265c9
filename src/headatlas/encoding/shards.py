"""One share of a corpus's inputs, by their ids: the same on every machine, whoever else works on the others."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from headatlas.errors import SettingError

_WRITTEN = re.compile(r"(\d{1,9})/(\d{1,9})")


class _Named(Protocol):
    @property
    def id(self) -> str: ...


Input = TypeVar("Input", bound=_Named)


@dataclass(frozen=True)
class Shard:
    """The share of a number, from 1, out of so many.

    >>> str(Shard.parse("2/8"))
    '2/8'
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "i/n"."""
        found = _WRITTEN.fullmatch(text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise SettingError(f"--shard {text} cannot be read. Write i/n, such as 2/8 for the second of eight shards.")
        return cls(int(found[1]), int(found[2]))

    def holds(self, name: str) -> bool:
        """Whether the input of that id is in this share."""
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.of == self.number - 1

    def of_segments(self, segments: Sequence[Input]) -> list[Input]:
        """Those in this share, in their order."""
        return [segment for segment in segments if self.holds(segment.id)]

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"
