"""The three surface studies in a run against the bare eager forward pass over the same batches."""

from __future__ import annotations

from benchmarks.measuring import (
    STUDIED,
    Result,
    bare_forward,
    base_size,
    eager_twin,
    observed_pass,
    random_batch,
    ratio,
)
from headatlas.models.loading import load_model

GOAL = 1.15


def measure(quick: bool) -> Result:
    """The worse of two ratios: a base-size random model, and the embedded model."""
    ratios = {}
    for model, rows, rounds in (
        (base_size(), 8, 3 if quick else 15),
        (load_model("embedded", device="cpu"), 16, 15 if quick else 61),
    ):
        batch = random_batch(model, rows, 128)
        studied, bare = observed_pass(model, batch, STUDIED), bare_forward(eager_twin(model), batch)
        ratios[model.name] = round(ratio(studied, bare, rounds), 3)
    return Result("surface", max(ratios.values()), GOAL, also={"ratios": ratios})
