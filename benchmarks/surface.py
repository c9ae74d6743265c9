"""The four surface studies in a run against the bare forward pass over the same batches, eager and fused.

All layers are run, as many as real models have: what follows the last layer's attention is not computed for studies,
which would count for too much in fewer layers.
"""

from __future__ import annotations

from benchmarks.measuring import Result, base_size, over_plain_passes, random_batch, worst
from headatlas.models.loading import load_model

GOALS = {
    "base-size 8 x 128": {"eager": 1.0, "sdpa": 1.1},
    "base-size 8 x 512": {"eager": 0.87, "sdpa": 1.1},
    "embedded 16 x 128": {"eager": 1.05},
}


def measure(quick: bool) -> Result:
    """The worst of all ratios over its goal."""
    base, embedded = base_size(), load_model("embedded", device="cpu")
    measured = {
        "base-size 8 x 128": over_plain_passes(base, random_batch(base, 8, 128), 5 if quick else 15),
        "base-size 8 x 512": over_plain_passes(base, random_batch(base, 8, 512), 1 if quick else 7),
        "embedded 16 x 128": over_plain_passes(embedded, random_batch(embedded, 16, 128), 9 if quick else 61),
    }
    return Result("surface", worst(measured, GOALS), 1.0, also={"over": measured, "goals": GOALS})
