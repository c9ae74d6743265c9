"""Intervals of the measures of layers: texts to score on and seeds are resampled together, alike for all tasks.

A replicate weighs every text by the bootstrap and draws as many seeds as there are, with replacement. Mixing weights
depend on the seeds alone, scores on both. Tasks on the same texts are resampled alike, so they are compared in pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.probes.span_scores import SpanCounts
from headatlas.statistics.layer_measures import centre_of_gravity, expected_layer, share_below
from headatlas.statistics.resampling import percentile_interval, poisson_weights

Floats = NDArray[np.float64]


def measures_of(cumulative: Floats, weights: Floats) -> dict[str, Floats]:
    """Where the layers lie that solve a task, by three measures, [...]; NaN if one does not exist.

    cumulative, weights: [..., L + 1].
    """
    return {
        "centre_of_gravity": centre_of_gravity(weights),
        "expected_layer": expected_layer(cumulative),
        "expected_clipped": expected_layer(cumulative, clip=True),
    }


def replicates(counts: SpanCounts, weights: Floats, resamplings: int, seed: int) -> tuple[Floats, Floats]:
    """Resample: cumulative scores and weights, [R, L + 1] each.

    weights: the mix of every seed's probe that sees all layers, [seeds, L + 1].
    """
    seeds, layers = weights.shape
    texts = poisson_weights(counts.ids, resamplings, seed).astype(np.float64)  # [S, R]
    scores = counts.micro_f1(texts).reshape(seeds, layers, resamplings)
    drawn = np.random.default_rng([seed, 4]).multinomial(seeds, np.full(seeds, 1 / seeds), size=resamplings) / seeds
    return np.einsum("slr,rs->rl", scores, drawn), drawn @ weights


def interval(values: Floats) -> tuple[float, float]:
    """The middle 95 % of replicates [R]."""
    low, high = percentile_interval(values)
    return float(low), float(high)


def order_rows(summaries: Sequence[tuple[dict[str, Any], dict[str, list[float]]]]) -> list[dict[str, Any]]:
    """Compare every two tasks by each measure, the lower one first.

    summaries: a row of `layer_summary` for each task, and its measures in every replicate.
    """
    rows = []
    for (first, drawn), (second, others) in permutations(summaries, 2):
        for measure in drawn:
            difference = second[measure] - first[measure]
            tied = difference == 0 and first["task"] < second["task"]
            if first["mix"] != second["mix"] or not (difference > 0 or tied):
                continue
            low_ends, high_ends = (np.array(values[measure], dtype=np.float64) for values in (drawn, others))
            share, count = share_below(low_ends, high_ends)
            low, high = interval(high_ends - low_ends)
            rows.append(
                {
                    "measure": measure,
                    "mix": first["mix"],
                    "below": first["task"],
                    "above": second["task"],
                    "difference": difference,
                    "low": low,
                    "high": high,
                    "share": share,
                    "count": count,
                }
            )
    return rows
