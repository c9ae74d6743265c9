"""Whether a folder holds a run already, and the same one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headatlas.engine.settings import differences
from headatlas.errors import AtlasError
from headatlas.results.atlas import ATLAS, FolderKind, read_manifest


def already_done(folder: Path, settings: dict[str, Any], kind: FolderKind = ATLAS) -> bool:
    """Tell whether the folder holds this run, finished; raise an error if it holds another run."""
    if not (folder / "manifest.json").exists():
        return False
    manifest = read_manifest(folder, kind)
    refuse_other_run(folder, manifest, settings)
    return bool(manifest.get("complete"))


def refuse_other_run(folder: Path, manifest: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Raise an error if a manifest is of a run with other settings."""
    made_by = manifest.get("versions")
    version = made_by.get("headatlas") if isinstance(made_by, Mapping) else None
    if differing := differences(manifest.get("settings", {}), settings, version):
        raise AtlasError(
            f"{folder}: holds other results ({'; '.join(differing)}). Choose another --out folder, or delete this one."
        )
