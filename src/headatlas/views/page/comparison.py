"""What the page says of a comparison of two atlases: what differs, and the heads of both sides next to each other.

A map of similar heads may be rotated and mirrored freely, because only distances have a meaning. So B's map is rotated
and mirrored to bring matched heads as close to each other as possible.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import orthogonal_procrustes

from headatlas.results.comparison import Comparison
from headatlas.results.naming import heads_in_layers
from headatlas.views.page.content import model_content
from headatlas.views.page.tables import packed_table
from headatlas.views.words.comparison import (
    comparison_findings,
    comparison_warnings,
    models_of,
    names_of,
    not_compared,
    relations_by,
)

COMPARISON_VIEWS = ("overview", "sides", "differences", "tables")
OMITTED = ("low", "high", "count", "correct", "uniform_nats")  # from the sides' tables: the differences have them
CAVEATS = (
    "Intervals are not corrected for the number of differences: if nothing differs, one in twenty still excludes 0.",
    "Each head of A is assigned to a head of B such that all matches together are best, so a single match may be poor: "
    "compare its distance with that of two heads of A.",
    "Heads in the same place of two models that were trained separately have nothing in common but the place.",
    "Attention shows where a head looks, not what the model uses. Two heads that attend alike may still do different "
    "things with what they see.",
)


def comparison_content(comparison: Comparison) -> dict[str, Any]:
    """Everything that a comparison's page says, as values that JSON can hold."""
    manifest, tables = comparison.manifest, comparison.tables
    names, called = names_of(manifest), models_of(manifest)
    models = [manifest[end]["model"] for end in "ab"]
    sizes = [heads_in_layers(model) for model in models]
    places = turned_map(comparison)
    return model_content(models[0]) | {
        "name": f"{names[0]} and {names[1]}",
        "views": list(COMPARISON_VIEWS),
        "relations_by": relations_by(manifest),
        "lead": f"A is {called[0]}, {sizes[0]}; B is {called[1]}, {sizes[1]}. Differences are B - A.",
        "findings": comparison_findings(comparison),
        "caveats": list(CAVEATS),
        "notes": [
            *comparison_warnings(manifest),
            *_measured_on(manifest["distances"]),
            *not_compared(manifest),
            "Tables with all digits are in the folder tables.",
        ],
        "tables": {name: packed_table(name, tables[name]) for name in tables},
        "comparisons": [],
        "sides": [
            _side(name, model, side)
            for name, model, side in zip(names, models, (comparison.sides[0], places), strict=True)
        ],
    }


def turned_map(comparison: Comparison) -> dict[str, pd.DataFrame]:
    """The tables of B, with its map rotated and mirrored towards A's by the matched heads, if there are any."""
    a, b = comparison.sides
    if "head_matches" not in comparison.tables or "head_map" not in a or "head_map" not in b:
        return dict(b)
    pairs = comparison.tables["head_matches"][["layer_a", "head_a", "layer_b", "head_b"]].dropna().astype("int64")
    for end, side in (("a", a), ("b", b)):
        places = side["head_map"][["layer", "head", "x", "y"]].dropna()
        pairs = pairs.merge(places.add_suffix(f"_{end}"))
    if len(pairs) < 2:
        return dict(b)
    matched_a, matched_b = (pairs[[f"x_{end}", f"y_{end}"]].to_numpy(np.float64) for end in "ab")
    turn, _ = orthogonal_procrustes(matched_b - matched_b.mean(0), matched_a - matched_a.mean(0))
    places = b["head_map"]
    turned = places[["x", "y"]].to_numpy(np.float64) @ turn
    return {**b, "head_map": places.assign(x=turned[:, 0], y=turned[:, 1])}


def _side(name: str, model: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    slim = {table: tables[table].drop(columns=list(OMITTED), errors="ignore") for table in tables}
    return model_content(model) | {
        "name": name,
        "tables": {table: packed_table(table, frame) for table, frame in slim.items()},
    }


def _measured_on(distances: Mapping[str, Any]) -> list[str]:
    if "skipped" in distances:
        return []
    return [
        f"Heads are matched by how they attend to the same {distances['segments']:,} segments "
        f"({distances['tokens']:,} tokens)."
    ]
