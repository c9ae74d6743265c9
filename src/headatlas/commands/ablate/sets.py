"""Do the same heads matter on two sets of examples of one task? (in-domain and out, matched and mismatched)

Each head is a point: the change without it on one set and on the other. The interval of their correlation resamples
heads. What is left if heads are not the same is the correlation after permuting the heads of one set within their
layers, which keeps whatever layers have in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from headatlas.commands.ablate.tables import SET_AGREEMENT, SET_CHANGES
from headatlas.statistics.correlation import fisher_interval, pearson, permuted_within, spearman
from headatlas.statistics.paired import holm
from headatlas.statistics.resampling import permutation_p_value

NULL_QUANTILE = 0.95


def changes_of_sets(ablation: pd.DataFrame) -> pd.DataFrame:
    """One row per pair of sets, measure and head: the change on either set."""
    frames: list[pd.DataFrame] = []
    for first, second in combinations(dict.fromkeys(ablation["task"]), 2):
        rows_a, rows_b = (ablation[ablation["task"] == name] for name in (first, second))
        merged = rows_a.merge(rows_b, on=["measure", "layer", "head"], suffixes=("_a", "_b"))
        frames.append(merged.assign(set_a=first, set_b=second)[list(SET_CHANGES.names)])
    return pd.concat(frames, ignore_index=True)


def agreement_of_sets(
    changes: pd.DataFrame, summaries: Mapping[str, Mapping[str, Any]], *, seed: int, resamplings: int
) -> pd.DataFrame:
    """One row per pair of sets and measure. summaries: of each set, as in the manifest."""
    frame = pd.DataFrame(list(_agreements(changes, summaries, seed, resamplings)))
    return frame.assign(p_holm=holm(frame["p_value"].to_numpy(dtype=np.float64)))[list(SET_AGREEMENT.names)]


def _agreements(
    changes: pd.DataFrame, summaries: Mapping[str, Mapping[str, Any]], seed: int, resamplings: int
) -> Iterator[dict[str, object]]:
    for (first, second, measure), rows in changes.groupby(["set_a", "set_b", "measure"], sort=False):
        a, b = (rows[column].to_numpy(dtype=np.float64) for column in ("change_a", "change_b"))
        drawn = np.random.default_rng([seed, 13]).integers(len(a), size=(resamplings, len(a)))
        by_rank, linear = float(spearman(a, b)), float(pearson(a, b))
        low, high = fisher_interval(by_rank, spearman(a[drawn], b[drawn]), len(a))
        pearson_low, pearson_high = fisher_interval(linear, pearson(a[drawn], b[drawn]), len(a))
        permuted = b[permuted_within(rows["layer"].to_numpy(dtype=np.int64), resamplings, seed)]
        null = spearman(np.broadcast_to(a, permuted.shape), permuted)
        known = not np.isnan(by_rank)
        halves = summaries[str(first)]["change_of_halves"]
        yield {
            "set_a": first,
            "set_b": second,
            "measure": measure,
            "spearman": by_rank,
            "low": low,
            "high": high,
            "pearson": linear,
            "pearson_low": pearson_low,
            "pearson_high": pearson_high,
            "null_mean": float(np.mean(null)) if known else np.nan,
            "null_high": float(np.quantile(null, NULL_QUANTILE)) if known else np.nan,
            "p_value": permutation_p_value(by_rank, null) if known else np.nan,
            "halves": np.nan if halves is None or measure != summaries[str(first)]["harm_measured_by"] else halves,
            "count": len(a),
        }
