"""Reading and writing manifests. A manifest may come from anywhere, so what is malformed is refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, cast

from headatlas.errors import AtlasError
from headatlas.files import json_text, parse_json, write_text
from headatlas.limits import LARGEST_JSON, read_within
from headatlas.manifest import FORMAT, MANIFEST, Manifest
from headatlas.models.stacks import parse_shape

_TYPES: dict[str, type] = {"complete": bool, "command": str} | dict.fromkeys(
    ("settings", "model", "versions", "corpora", "tables", "studies_skipped", "summary"), dict
)


def read_manifest(folder: Path, command: str = "") -> Manifest:
    """Read the manifest of a folder.

    Args:
        folder: The folder of a run.
        command: The command that makes what is wanted, if that is known, for the error message.

    Returns:
        The manifest. A key that it lacks raises AtlasError when it is asked for.

    Raises:
        AtlasError: It is missing or damaged, or not a manifest of this version.
    """
    path = folder / MANIFEST
    try:
        manifest = _parse(read_within(path, LARGEST_JSON).decode("utf-8"), path)
    except FileNotFoundError as error:
        remedy = f"Make some with: headatlas {command}" if command else "Give the folder of a finished run."
        raise AtlasError(f"{folder}: there are no results here (no {MANIFEST}). {remedy}") from error
    except (OSError, ValueError) as error:
        raise AtlasError(f"{path}: cannot be read ({error}). Delete the folder and run its command again.") from error
    if manifest.get("format") != FORMAT or "command" not in manifest:
        raise AtlasError(f"{path}: not a manifest that this version of headatlas can read. Run again.")
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write a manifest, readable by people."""
    write_text(folder / MANIFEST, json_text({"format": FORMAT} | manifest, indent=2) + "\n")


class _Part(dict[str, Any]):
    """An object within a manifest. A missing key raises AtlasError, which names the file and the key."""

    def __init__(self, entries: dict[str, Any], path: Path) -> None:
        super().__init__(entries)
        self._path = path

    def __missing__(self, key: str) -> Any:
        raise AtlasError(f"{self._path}: {key!r} is missing. The file is damaged, or from another version: run again.")


def _parse(text: str, path: Path) -> Manifest:
    """The content of a manifest; ValueError if it is not a JSON object, or if one of its main parts is malformed."""
    manifest = parse_json(text, partial(_Part, path=path))
    if not isinstance(manifest, dict):
        raise ValueError("it is not an object")
    for name, expected in _TYPES.items():
        if not isinstance(manifest.get(name, expected()), expected):
            raise ValueError(f"{name} is a {type(manifest[name]).__name__}")
    model = manifest.get("model", {})
    if not isinstance(model.get("name", ""), str):
        raise ValueError("the model's name is not text")
    parse_shape(model.get("heads", [1]))
    if not all(isinstance(about, dict) for about in manifest.get("corpora", {}).values()):
        raise ValueError("the description of a corpus is not an object")
    if not all(name.isidentifier() and type(rows) is int for name, rows in manifest.get("tables", {}).items()):
        raise ValueError("its tables are not names with numbers of rows")
    return cast(Manifest, manifest)
