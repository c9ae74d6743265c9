"""Attention blocks with half of their heads cut out against whole ones, and the file against what is predicted."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measuring import Result, base_size, random_batch
from headatlas.commands.prune.measuring import compare_speed, sizes
from headatlas.models.observing import quiet_transformers
from headatlas.models.pruning import pruned_copy

GOAL = 0.75


def measure(quick: bool) -> Result:
    """Every other head of a base-size model goes."""
    model = base_size()
    removed = [(layer, head) for layer in range(1, 13) for head in range(1, 13, 2)]
    smaller = pruned_copy(model.network, removed, {}, model.name)
    with tempfile.TemporaryDirectory() as folder, quiet_transformers():
        smaller.save_pretrained(folder)
        size = sizes(model, smaller, removed, Path(folder))
    speed = compare_speed(model, smaller, random_batch(model, 4 if quick else 8, 128), 3 if quick else 9)
    saved = size["tensor_bytes"]
    also = {
        "model_ratio": round(speed["model"]["ratio"], 3),
        "saved_mb": round((saved["before"] - saved["after"]) / 1e6, 3),
        "predicted_mb": round((saved["before"] - saved["predicted"]) / 1e6, 3),
    }
    ratio = speed["attention_blocks"]["ratio"]
    return Result("pruning", ratio, GOAL, also_holds=saved["after"] == saved["predicted"], also=also)
