"""The folder that pruning leaves: a model of transformers with fewer heads, and what became of it.

DIR/config.json, model.safetensors, tokenizer files    the model
DIR/headatlas_pruning.json    which heads of which model were kept
DIR/manifest.json             how they were chosen, sizes, measured speed and memory, versions
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.engine.locking import HOLDER, LOCK
from headatlas.errors import AtlasError
from headatlas.models.loading import load_model
from headatlas.models.model import Model
from headatlas.results.atlas import PRUNING, read_manifest
from headatlas.results.finished import already_done


@dataclass(frozen=True)
class PrunedFolder:
    """A pruned model on disk."""

    folder: Path

    @property
    def manifest(self) -> dict[str, Any]:
        """How it was made and what it saves."""
        return read_manifest(self.folder, PRUNING)

    def load(self, **options: Any) -> Model:
        """The pruned model, ready to observe; options as of `load_model`."""
        return load_model(str(self.folder), **options)


def holds_this_pruning(folder: Path, settings: dict[str, Any]) -> bool:
    """Whether the folder holds this very pruning, finished. A folder with anything else in it is refused."""
    others = folder.is_dir() and any(path.name not in (LOCK, HOLDER) for path in folder.iterdir())
    if others and not (folder / "manifest.json").exists():
        raise AtlasError(f"{folder}: there are other files in it. Choose another --out folder.")
    return already_done(folder, settings, PRUNING)
