"""A SHA-256 in the files that keep a run's unfinished work: a file that has changed since is refused.

A disk or a copy that flips a bit of a sum would change a table, and nothing else would show it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import numpy as safetensors_numpy

from headatlas.files import parse_json, safetensors_metadata

_KEY = "sha256"
_CHANGED = "it has changed since it was written"
_KINDS = {"f": (16, 32, 64), "i": (8, 16, 32, 64), "u": (8, 16, 32, 64)}
_DTYPES = {np.dtype(f"{kind}{bits // 8}"): f"{kind.upper()}{bits}" for kind, sizes in _KINDS.items() for bits in sizes}
_DTYPES[np.dtype(np.bool_)] = "BOOL"
_ALIGNED = 8  # bytes: the header of a safetensors file is filled up with blanks


def pack_tensors(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """A safetensors file of these arrays, with their checksum beside the metadata."""
    return b"".join(_parts(arrays, metadata))


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Write the file of `pack_tensors` without a second copy of the arrays in memory."""
    with path.open("wb") as file:
        file.writelines(_parts(arrays, metadata))


def _parts(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    """The header of a safetensors file, then each array."""
    in_order = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    ends = list(accumulate((array.nbytes for array in in_order.values()), initial=0))
    header: dict[str, Any] = {"__metadata__": {**metadata, _KEY: tensors_checksum(in_order, metadata)}}
    for (name, array), start, end in zip(in_order.items(), ends, ends[1:], strict=False):
        header[name] = {"dtype": _DTYPES[array.dtype], "shape": array.shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNED)
    yield len(text).to_bytes(8, "little") + text
    for array in in_order.values():
        yield array.reshape(-1).view(np.uint8).data


def unpack_tensors(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a file made by `pack_tensors`; ValueError if they or the metadata have changed since."""
    try:
        metadata = safetensors_metadata(content)
        arrays: dict[str, NDArray[Any]] = safetensors_numpy.load(content)
    except Exception as error:  # a damaged header fails in many ways
        raise ValueError(f"it is not a safetensors file with a checksum ({error})") from error
    if metadata.pop(_KEY, None) != tensors_checksum(arrays, metadata):
        raise ValueError(_CHANGED)
    return arrays


def tensors_checksum(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> str:
    """The hash of all that a safetensors file says: metadata, names, types, shapes and numbers."""
    digest = hashlib.sha256(json.dumps(dict(metadata), sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def pack_json(record: Mapping[str, Any]) -> str:
    """A record as JSON, with its checksum."""
    return json.dumps(dict(record) | {_KEY: _json_checksum(record)}) + "\n"


def unpack_json(text: str) -> dict[str, Any]:
    """The record that `pack_json` was given; ValueError if it has changed since."""
    record = parse_json(text)
    if not isinstance(record, dict) or record.pop(_KEY, None) != _json_checksum(record):
        raise ValueError(_CHANGED)
    return record


def _json_checksum(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(record)).encode()).hexdigest()
