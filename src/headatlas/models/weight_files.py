"""The weight files of a model folder."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError, safe_open

_FEWEST_BYTES = 64  # that a tensor takes in any format, with its name and shape
WEIGHT_FILES = ("*.safetensors", "pytorch_model*.bin")


def find_weights(folder: Path) -> tuple[Path, ...]:
    """The files that transformers loads weights from: safetensors if there are any, else pickles; maybe none."""
    return next((files for pattern in WEIGHT_FILES if (files := tuple(sorted(folder.glob(pattern))))), ())


def most_tensors(path: Path) -> int:
    """How many tensors a weight file holds at most: counted in safetensors, else judged by its size."""
    if path.suffix == ".safetensors":
        try:
            with safe_open(path, "np") as file:
                return len(list(file.keys()))
        except (OSError, SafetensorError):  # said by whoever loads it
            pass
    return path.stat().st_size // _FEWEST_BYTES
