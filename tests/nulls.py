"""Which random networks are put to the test: a few, or with HEADATLAS_NULLS=1 all, which takes some minutes more."""

from __future__ import annotations

import os

KINDS_AND_SEEDS = [(kind, seed) for seed in range(3) for kind in ("fresh", "shuffled")]


def random_networks(few: int) -> list[tuple[str, int]]:
    """Kinds of random weights with seeds: the first few, or all."""
    return KINDS_AND_SEEDS if os.environ.get("HEADATLAS_NULLS") == "1" else KINDS_AND_SEEDS[:few]


def seeds(few: int) -> range:
    """Seeds of shuffled labels: the first few, or four."""
    return range(4 if os.environ.get("HEADATLAS_NULLS") == "1" else few)
