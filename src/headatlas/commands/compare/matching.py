"""Which head of B is which head of A? Matched by how they attend to the same text, and by what they do.

By distance: both models read the same segments, and the Jensen-Shannon divergence of rows is taken for all pairs of a
head of one and a head of the other: the mean over tokens, 0 to log 2, then over segments, as in `studies.similarity`
with ``per_token``. Distances within each model give the scale. Heads of A are assigned to heads of B, one to one, such
that the sum of distances is smallest (as many pairs as the smaller model has heads).

By behaviour: heads that have the same label in both models are assigned likewise if distances across the models are
known; else the strongest is matched with the strongest.

If heads were assigned at random, one of them would be expected to fall on its own place, however many there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from headatlas.commands.compare.tables import BEHAVIOUR_MATCHES, HEAD_MATCHES
from headatlas.encoding.batches import Batch, iterate_batches, plan_batches
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.segments import Segment
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape, Stack
from headatlas.progress import moved, stage
from headatlas.studies.kept_rows import KeptRows, most_pairs
from headatlas.studies.labels import labels_of
from headatlas.studies.similarity import pair_means
from headatlas.wording import counted

Array = NDArray[np.float64]
SideModel = tuple[Model, Stack]
Head = tuple[int, int]  # layer and head, from 1


class Crossing:
    """Mean divergences of all pairs of heads of two models: a running sum over segments."""

    def __init__(self, a: HeadShape, b: HeadShape) -> None:
        self.shapes = a, b
        heads = a.total + b.total
        self._sum, self._count = np.zeros((heads, heads)), np.zeros((heads, heads), dtype=np.int64)

    def add(self, rows: Tensor) -> None:
        """Add a segment. rows: [Q, heads of A and then of B, K], without padding."""
        means, counted = pair_means(rows, *self.shapes)
        self._sum += means
        self._count += counted

    @property
    def across(self) -> Array:
        """Distances of the heads of A and of B, [HA, HB]; NaN if no segment counts."""
        heads_a = self.shapes[0].total
        return self._means()[:heads_a, heads_a:]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Segments in each distance, [HA, HB]."""
        heads_a = self.shapes[0].total
        return self._count[:heads_a, heads_a:]

    def within(self) -> tuple[float, float]:
        """The mean distance of two heads of A, and of two heads of B; NaN if there is none."""
        heads_a = self.shapes[0].total
        means = self._means()
        blocks = means[:heads_a, :heads_a], means[heads_a:, heads_a:]
        first, second = (block[np.triu_indices(len(block), 1)] for block in blocks)
        return mean_known(first), mean_known(second)

    def _means(self) -> Array:
        with np.errstate(invalid="ignore"):
            return self._sum / self._count


def mean_known(values: Array) -> float:
    """The mean of the values that are not NaN."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def cross_models(a: SideModel, b: SideModel, segments: Sequence[Segment], *, batch_tokens: int) -> Crossing:
    """Run both models, on one device, over the segments and compare all their heads."""
    shapes = [model.shapes[stack] for model, stack in (a, b)]
    crossing = Crossing(*shapes)
    heads = sum(shape.total for shape in shapes)
    plan = plan_batches(segments, batch_tokens, most_pairs(heads))
    rows_of_batch = KeptRows(heads)
    model = a[0]
    with stage(f"Running both models: {counted(len(segments), 'segment')}", sum(map(len, segments))) as bar:
        for batch in iterate_batches(segments, plan, kind_table(model.tokenizer), model.pad_id):
            on_device = batch.to(model.device)
            _keep_all(rows_of_batch, a, on_device, 0)
            _keep_all(rows_of_batch, b, on_device, shapes[0].total)
            for rows in rows_of_batch.take():
                crossing.add(rows)
            bar.advance(batch.tokens)
    return crossing


def _keep_all(rows: KeptRows, side: SideModel, batch: Batch, first: int) -> None:
    """Run a model over the batch and keep the rows of all its heads, numbered from `first`."""
    model, stack = side
    starts = list(accumulate(model.shapes[stack].heads, initial=first))

    def see(layer: int, weights: Tensor, _mask: Tensor | None) -> None:
        rows.keep(weights, batch, starts[layer])
        moved()

    model.observe(batch, see, stack)


def assign(distances: Array) -> dict[int, int]:
    """Match rows with columns, one to one, at the smallest total distance; pairs without a distance stay unmatched."""
    known = ~np.isnan(distances)
    costly = 1 + 2 * float(np.abs(distances[known]).sum())  # more than any choice of known pairs costs
    rows, columns = linear_sum_assignment(np.where(known, distances, costly))
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
    return HEAD_MATCHES.from_rows(rows).astype({"count": "Int64"}).fillna({"count": 0})


def match_summary(matches: pd.DataFrame, crossing: Crossing, share_of_rows: float) -> pd.DataFrame:
    """measure, value: how far heads moved, and how many keep their place and layer, beside chance."""
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
        chance = sum(of_a * of_b for of_a, of_b in zip(a.heads, b.heads, strict=True)) / max(a.total, b.total)
        measures |= {"layer_kept": int((pairs["layer_a"] == pairs["layer_b"]).sum()), "layer_kept_by_chance": chance}
    return pd.DataFrame({"measure": measures.keys(), "value": measures.values()})


def behaviour_match_table(
    a: pd.DataFrame, b: pd.DataFrame, distances: Mapping[tuple[Head, Head], float]
) -> pd.DataFrame:
    """For each label the heads of A and B that have it, matched; those without a match have an empty other side.

    States are not matched: heads are in them without training too.

    distances: of a head of A and one of B; empty if they were not measured.
    """
    a, b = labels_of(a), labels_of(b)
    rows: list[tuple[Any, ...]] = []
    for label in dict.fromkeys([*a["label"], *b["label"]]):
        heads_a, heads_b = (_strongest(table[table["label"] == label]) for table in (a, b))
        matched = _match_behaviours(heads_a, heads_b, distances)
        for number, (head, strength) in enumerate(heads_a):
            if number in matched:
                match, strength_b = heads_b[matched[number]]
                rows.append((label, *head, strength, *match, strength_b, distances.get((head, match))))
            else:
                rows.append((label, *head, strength, None, None, None, None))
        taken = set(matched.values())
        rows += [
            (label, None, None, None, *head, strength, None)
            for number, (head, strength) in enumerate(heads_b)
            if number not in taken
        ]
    return pd.DataFrame(rows, columns=BEHAVIOUR_MATCHES.names)


def _match_behaviours(
    a: list[tuple[Head, float]], b: list[tuple[Head, float]], distances: Mapping[tuple[Head, Head], float]
) -> dict[int, int]:
    if not distances:
        return {number: number for number in range(min(len(a), len(b)))}
    return assign(np.array([[distances[head, match] for match, _ in b] for head, _ in a]).reshape(len(a), len(b)))


def _strongest(rows: pd.DataFrame) -> list[tuple[Head, float]]:
    """Heads with their strengths, the strongest first."""
    ordered = rows.sort_values("strength", ascending=False, kind="stable")
    return [((int(row.layer), int(row.head)), float(row.strength)) for row in ordered.itertuples()]  # type: ignore[arg-type]


def _match(b: list[Head], column: int, distances: Array, counts: NDArray[np.int64]) -> dict[str, Any]:
    layer, head = b[column]
    return {"layer_b": layer, "head_b": head, "distance": distances[column], "count": counts[column]}
