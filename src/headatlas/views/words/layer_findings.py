"""What `headatlas layers` found, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

SURE = 0.95  # share of replicates from which an order counts as settled


def layer_findings(tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Each task's place in the stack, and which of their order is settled."""
    for row in tables["layer_summary"].to_dict("records"):
        where = f"{row['task']}, mix of {row['mix']}" + (", random weights" if row["weights"] == "random" else "")
        score, low, high = (100 * float(row[name]) for name in ("score", "low", "high"))
        expected = ", no gain over the embeddings" if pd.isna(row["expected_layer"]) else _expected(row)
        centre = f"centre of gravity {row['centre_of_gravity']:.2f}"
        yield f"{where}: micro F1 {score:.1f} ({low:.1f} to {high:.1f}), {centre}{expected}"
    if "layer_order" not in tables:
        return
    order = tables["layer_order"]
    for measure, name in (("centre_of_gravity", "centre of gravity"), ("expected_layer", "expected layer")):
        yield from _order(
            tables["layer_summary"], order[(order["measure"] == measure) & (order["mix"] == "layers")], name
        )


def _expected(row: Mapping[Any, Any]) -> str:
    """The expected layer; where layers that harm make a difference, also without them."""
    raw, clipped = (f"{row[name]:.2f}" for name in ("expected_layer", "expected_clipped"))
    return f", expected layer {raw}" + (f" ({clipped} with harm as 0)" if clipped != raw else "")


def _order(summary: pd.DataFrame, order: pd.DataFrame, name: str) -> Iterator[str]:
    measure = name.replace(" ", "_")
    there = summary[(summary["mix"] == "layers") & (summary["weights"] == "pretrained")].dropna(subset=measure)
    if len(there) < 2:
        return
    ranked = " < ".join(there.sort_values(measure, kind="stable")["task"])
    settled = int((order["share"] >= SURE).sum())
    yield f"by {name}: {ranked}; {settled} of {len(order)} pairs are so in at least {SURE:.0%} of replicates"
