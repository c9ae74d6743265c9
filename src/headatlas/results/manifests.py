"""Manifests as they are read: what one does not tell, or tells in another type than it should, is a clear error."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from headatlas.errors import AtlasError
from headatlas.files import parse_json
from headatlas.models.stacks import parse_shape

_TYPES: dict[str, type] = {"complete": bool} | dict.fromkeys(
    ("settings", "model", "versions", "corpora", "tables", "studies_skipped", "summary"), dict
)


class ManifestPart(dict[str, Any]):
    """An object within a manifest. A missing key raises AtlasError, which names the file and the key."""

    def __init__(self, told: dict[str, Any], path: Path) -> None:
        super().__init__(told)
        self._path = path

    def __missing__(self, key: str) -> Any:
        raise AtlasError(f"{self._path}: does not tell {key!r}: it is damaged, or of another version. Make it again.")


def parse_manifest(text: str, path: Path) -> Any:
    """What a manifest's text holds; ValueError where it is no JSON, or where one of its main parts is malformed."""
    manifest = parse_json(text, partial(ManifestPart, path=path))
    if isinstance(manifest, dict):
        for name, kind in _TYPES.items():
            if not isinstance(manifest.get(name, kind()), kind):
                raise ValueError(f"{name} is a {type(manifest[name]).__name__}")
        _check_model(manifest.get("model", {}))
        if not all(isinstance(about, dict) for about in manifest.get("corpora", {}).values()):
            raise ValueError("what it says of a corpus is no object")
        if not all(name.isidentifier() and type(rows) is int for name, rows in manifest.get("tables", {}).items()):
            raise ValueError("its tables are not names with numbers of rows")
    return manifest


def _check_model(model: dict[str, Any]) -> None:
    if not isinstance(model.get("name", ""), str):
        raise ValueError("the model's name is no text")
    parse_shape(model.get("heads", [1]))
