"""Folders of tiny models, altered and loaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from headatlas.models.loading import load_model
from headatlas.models.model import Model

CopyOf = Callable[[str], Path]
Save = Callable[..., Path]


def load(folder: Path, **options: Any) -> Model:
    return load_model(str(folder), device="cpu", **options)


def change_config(folder: Path, **changes: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


def change_tensors(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> Path:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, metadata={"format": "pt"})
    return folder
