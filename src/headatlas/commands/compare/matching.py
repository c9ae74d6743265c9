"""Which head of B is which head of A? Matched by how they attend, and by what they do.

By distance: the assignment of heads of A to heads of B, one to one, whose distances add up to the least (as many pairs
as the smaller model has heads). By behaviour: of the heads that have a label in both models, the same assignment where
distances across the models are known; else the strongest with the strongest.

Were heads assigned at random, one of them would be expected to fall on its own place, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from headatlas.commands.compare.crossing import Crossing, mean_known

Array = NDArray[np.float64]
Head = tuple[int, int]  # layer and head, from 1
BEHAVIOUR_COLUMNS = ["label", "layer_a", "head_a", "strength_a", "layer_b", "head_b", "strength_b", "distance"]


def assign(distances: Array) -> dict[int, int]:
    """Rows matched with columns, one to one, at the least total distance; pairs without a distance stay unmatched."""
    known = ~np.isnan(distances)
    dear = 1 + 2 * float(np.abs(distances[known]).sum())  # more than any choice of known pairs costs
    rows, columns = linear_sum_assignment(np.where(known, distances, dear))
    return {int(row): int(column) for row, column in zip(rows, columns, strict=True) if known[row, column]}


def cross_distance_table(crossing: Crossing) -> pd.DataFrame:
    """layer_a, head_a, layer_b, head_b, value, count: every head of A with every head of B."""
    a, b = (np.array(shape.numbered) for shape in crossing.shapes)
    rows, columns = (np.ravel(numbers) for numbers in np.indices((len(a), len(b))))
    named = {"layer_a": a[rows, 0], "head_a": a[rows, 1], "layer_b": b[columns, 0], "head_b": b[columns, 1]}
    return pd.DataFrame(named | {"value": crossing.across.ravel(), "count": crossing.counts.ravel()})


def head_match_table(crossing: Crossing) -> pd.DataFrame:
    """A row for each head of A with its match, then one for each head of B that has none."""
    a, b = (shape.numbered for shape in crossing.shapes)
    distances, counts = crossing.across, crossing.counts
    matched = assign(distances)
    same_shape = crossing.shapes[0] == crossing.shapes[1]
    rows: list[dict[str, Any]] = []
    for number, head in enumerate(a):
        row: dict[str, Any] = dict(zip(("layer_a", "head_a"), head, strict=True))
        if not np.isnan(distances[number]).all():
            nearest = int(np.nanargmin(distances[number]))
            row |= dict(zip(("nearest_layer", "nearest_head"), b[nearest], strict=True))
            row["nearest"] = distances[number, nearest]
        if number in matched:
            row |= _match(b, matched[number], distances[number], counts[number])
        if same_shape:
            row |= {"own": distances[number, number], "place_kept": matched.get(number) == number}
        rows.append(row)
    taken = set(matched.values())
    rows += [
        dict(zip(("layer_b", "head_b"), b[number], strict=True)) for number in range(len(b)) if number not in taken
    ]
    columns = ["layer_a", "head_a", "layer_b", "head_b", "distance", "nearest_layer", "nearest_head", "nearest"]
    frame = pd.DataFrame(rows, columns=[*columns, "own", "place_kept", "count"])
    return frame.astype({"count": "Int64"}).fillna({"count": 0})


def match_summary(matches: pd.DataFrame, crossing: Crossing, share_of_rows: float) -> pd.DataFrame:
    """measure, value: how far heads moved, and how many stay in their place and layer, beside chance."""
    pairs = matches.dropna(subset=["layer_a", "layer_b"])
    a, b = crossing.shapes
    within_a, within_b = crossing.within()
    measures = {
        "heads_a": a.total,
        "heads_b": b.total,
        "matched": len(pairs),
        "matched_distance": mean_known(pairs["distance"].to_numpy(np.float64)),
        "across_distance": mean_known(crossing.across),
        "within_a_distance": within_a,
        "within_b_distance": within_b,
        "share_of_rows": share_of_rows,
    }
    if a == b:
        measures |= {
            "own_distance": mean_known(matches["own"].to_numpy(np.float64)),
            "place_kept": int(pairs["place_kept"].sum()),
            "place_kept_by_chance": 1,
        }
    if a.layers == b.layers:
        chance = sum(one * other for one, other in zip(a.heads, b.heads, strict=True)) / max(a.total, b.total)
        measures |= {"layer_kept": int((pairs["layer_a"] == pairs["layer_b"]).sum()), "layer_kept_by_chance": chance}
    return pd.DataFrame({"measure": measures.keys(), "value": measures.values()})


def behaviour_match_table(
    a: pd.DataFrame, b: pd.DataFrame, distances: Mapping[tuple[Head, Head], float]
) -> pd.DataFrame:
    """For each label the heads of A and B that have it, matched; those without a match have an empty other side.

    distances: of a head of A and one of B; none where they were not measured.
    """
    rows: list[tuple[Any, ...]] = []
    for label in dict.fromkeys([*a["label"], *b["label"]]):
        own, other = (_strongest(table[table["label"] == label]) for table in (a, b))
        matched = _match_behaviours(own, other, distances)
        for number, (head, strength) in enumerate(own):
            if number in matched:
                partner, its_strength = other[matched[number]]
                rows.append((label, *head, strength, *partner, its_strength, distances.get((head, partner))))
            else:
                rows.append((label, *head, strength, None, None, None, None))
        taken = set(matched.values())
        rows += [
            (label, None, None, None, *head, strength, None)
            for number, (head, strength) in enumerate(other)
            if number not in taken
        ]
    return pd.DataFrame(rows, columns=BEHAVIOUR_COLUMNS)


def _match_behaviours(
    own: list[tuple[Head, float]], other: list[tuple[Head, float]], distances: Mapping[tuple[Head, Head], float]
) -> dict[int, int]:
    if not distances:
        return {number: number for number in range(min(len(own), len(other)))}
    return assign(np.array([[distances[a, b] for b, _ in other] for a, _ in own]).reshape(len(own), len(other)))


def _strongest(rows: pd.DataFrame) -> list[tuple[Head, float]]:
    """Heads with their strengths, the strongest first."""
    ordered = rows.sort_values("strength", ascending=False, kind="stable")
    return [((int(row.layer), int(row.head)), float(row.strength)) for row in ordered.itertuples()]  # type: ignore[arg-type]


def _match(b: list[Head], column: int, distances: Array, counts: NDArray[np.int64]) -> dict[str, Any]:
    layer, head = b[column]
    return {"layer_b": layer, "head_b": head, "distance": distances[column], "count": counts[column]}
