"""What a pruned folder says of itself: which heads of which model were kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.checksums import pack_json, unpack_json
from headatlas.errors import ModelError
from headatlas.files import json_text, parse_json, sha256, write_text
from headatlas.models.weight_files import find_weights

PRUNING_RECORD = "headatlas_pruning.json"
FORMAT = "headatlas-pruning-2"


@dataclass(frozen=True)
class Pruning:
    """The heads that are left of a model."""

    kept_heads: tuple[tuple[int, ...], ...]  # of each layer, from 1, by the numbers of `base`
    base: Mapping[str, Any]  # the model before any pruning: its name, class, weights

    def write(self, folder: Path) -> None:
        """Leave the record beside the weights, with a checksum over both."""
        record = {
            "format": FORMAT,
            "base": dict(self.base),
            "kept_heads": [list(heads) for heads in self.kept_heads],
            "weights_sha256": _fingerprint(folder),
        }
        checked = parse_json(pack_json(parse_json(json_text(record))))
        write_text(folder / PRUNING_RECORD, json_text(checked, indent=2) + "\n")


def read_pruning(folder: Path) -> Pruning:
    """The record of a pruned folder; ModelError where it is missing, damaged or of other weights than those here."""
    path = folder / PRUNING_RECORD
    try:
        text = path.read_text(encoding="utf-8")
        record = parse_json(text)
    except FileNotFoundError as error:
        raise ModelError(
            f"{folder}: not a pruned model (no {PRUNING_RECORD}). Make one with: headatlas prune"
        ) from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read ({error}). Prune the model again.") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ModelError(
            f"{path}: not the record of a pruned model, or one of another version of headatlas (its format is not "
            f"{FORMAT}). Prune the model again."
        )
    kept, base = record.get("kept_heads"), record.get("base")
    if not isinstance(base, dict) or not isinstance(kept, list) or not all(map(_names_heads, kept)):
        raise ModelError(
            f"{path}: kept_heads must be a list of each layer's heads, rising from 1, and base an object. "
            "Prune the model again."
        )
    try:
        unpack_json(text)
    except ValueError as error:
        raise ModelError(
            f"{path}: {error}, so it may name other heads than those in the weights. Prune the model again."
        ) from error
    if record.get("weights_sha256") != _fingerprint(folder):
        raise ModelError(
            f"{folder}: its weights are not those that {PRUNING_RECORD} was written for, so which heads they hold is "
            "not known. Restore them, or prune the model again."
        )
    return Pruning(tuple(map(tuple, kept)), base)


def _fingerprint(folder: Path) -> dict[str, str]:
    return {weights.name: sha256(weights) for weights in find_weights(folder)}


def _names_heads(heads: Any) -> bool:
    """Whether these are the numbers of a layer's heads: whole, from 1, each above the one before."""
    if not isinstance(heads, list) or not all(type(head) is int for head in heads):
        return False
    return all(before < head for before, head in zip([0, *heads], heads, strict=False))
