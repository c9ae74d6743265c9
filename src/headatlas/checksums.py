"""A SHA-256 in what a run keeps of its work, over all that the file holds: one that has changed since is refused.

A disk or a copy that flips a bit of a sum would change a table, and nothing else would tell.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from headatlas.files import parse_json

_KEY = "sha256"
_BLANK = b"0" * 64
UNSEALED = {_KEY: _BLANK.decode()}  # metadata of a safetensors file that is to be sealed
_FIELD = f'"{_KEY}":"'.encode()  # cannot stand within a text of the header: quotation marks are escaped there
_CHANGED = "it has changed since it was written"


def seal_tensors(content: bytes) -> bytes:
    """A safetensors file whose metadata hold UNSEALED, with the hash of all its bytes there instead."""
    start, end = _place(content)
    return b"".join((memoryview(content)[:start], _hash(content).encode(), memoryview(content)[end:]))


def check_tensors(content: bytes) -> None:
    """ValueError where a safetensors file is not, byte for byte, what was sealed."""
    start, end = _place(content)
    if content[start:end] != _hash(content).encode():
        raise ValueError(_CHANGED)


def seal_json(record: Mapping[str, Any]) -> str:
    """A record as JSON, with the hash of all else it tells."""
    return json.dumps(dict(record) | {_KEY: _told(record)}) + "\n"


def open_json(text: str) -> dict[str, Any]:
    """What `seal_json` was given; ValueError where it tells anything else."""
    found = parse_json(text)
    if not isinstance(found, dict) or found.pop(_KEY, None) != _told(found):
        raise ValueError(_CHANGED)
    return found


def _told(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(record)).encode()).hexdigest()


def _place(content: bytes) -> tuple[int, int]:
    """Where the hash stands in a safetensors file."""
    header = 8 + int.from_bytes(content[:8], "little")
    start = content.find(_FIELD, 8, min(header, len(content))) + len(_FIELD)
    if start < len(_FIELD):
        raise ValueError("it has no checksum")
    return start, start + len(_BLANK)


def _hash(content: bytes) -> str:
    """Of the file as it was before it was sealed."""
    start, end = _place(content)
    digest = hashlib.sha256(memoryview(content)[:start])
    digest.update(_BLANK)
    digest.update(memoryview(content)[end:])
    return digest.hexdigest()
