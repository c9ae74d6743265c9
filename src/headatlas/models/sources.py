"""Where a model's files are: an embedded package, a local folder, a GGUF file or the Hugging Face hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.errors import ModelError
from headatlas.files import sha256
from headatlas.models.embedded import EMBEDDED

WEIGHT_FILES = ("*.safetensors", "pytorch_model*.bin")


@dataclass(frozen=True)
class ModelSource:
    """What to hand to transformers, and what to write in the manifest."""

    name: str  # as the user gave it
    location: str  # folder or hub name
    arguments: dict[str, Any]  # further arguments of from_pretrained
    weights: tuple[Path, ...]  # local weight files; none for the hub
    record: dict[str, Any]  # for the manifest

    def fingerprint(self) -> dict[str, str]:
        """File name and SHA-256 of every local weight file."""
        return {path.name: sha256(path) for path in self.weights}


def find_source(name: str, revision: str | None = None) -> ModelSource:
    """Decide what a model name means: embedded name, existing path, else a name on the hub."""
    if name in EMBEDDED:
        embedded = EMBEDDED[name]
        weights = embedded.verified()
        arguments = {"gguf_file": weights.name} if weights.suffix == ".gguf" else {}
        record = {"kind": "embedded", "package": f"{embedded.package}=={embedded.version}", "about": embedded.about}
        return ModelSource(name, str(weights.parent), arguments, (weights,), record)
    path = Path(name).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        return ModelSource(name, str(path.parent), {"gguf_file": path.name}, (path,), {"kind": "gguf file"})
    if path.is_dir():
        return _folder(name, path)
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or path.suffix == ".gguf":
        raise ModelError(f"{name}: no such folder. Give a model folder, a hub name or one of: {', '.join(EMBEDDED)}.")
    return ModelSource(
        name, name, {"revision": revision or "main"}, (), {"kind": "hub", "revision": revision or "main"}
    )


def _folder(name: str, path: Path) -> ModelSource:
    if not (path / "config.json").is_file():
        raise ModelError(f"{name}: the folder has no config.json, so it is not a Hugging Face model folder.")
    for pattern in WEIGHT_FILES:
        if weights := tuple(sorted(path.glob(pattern))):
            return ModelSource(name, str(path), {}, weights, {"kind": "folder"})
    raise ModelError(
        f"{name}: the folder has a config.json but no weights ({' or '.join(WEIGHT_FILES)}). "
        "Download or save the model's weights into it."
    )
