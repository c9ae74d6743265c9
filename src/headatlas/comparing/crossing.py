"""How differently do the heads of two models attend to the same text? (after the paper's section 6)

Both models read the same segments, and the Jensen-Shannon divergence of rows is taken for all pairs of a head of one
and a head of the other: the mean over tokens, 0 to log 2, then over segments, as in `studies.similarity` with
``per_token``. Distances within each model come with it, for scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.batches import Batch, iterate_batches, plan_batches
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.segments import Segment
from headatlas.engine.progress import TokenProgress
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape, Stack
from headatlas.statistics.divergence import divergence_sums
from headatlas.statistics.threads import one_thread
from headatlas.studies.similarity import most_pairs, pair_means, rows_kept
from headatlas.studies.study import refuse_non_finite

Array = NDArray[np.float64]
Side = tuple[Model, Stack]


class Crossing:
    """Mean divergences of all pairs of heads of two models: a running sum over segments that merges."""

    def __init__(self, a: HeadShape, b: HeadShape) -> None:
        self.shapes = a, b
        heads = a.total + b.total
        self._sum, self._count = np.zeros((heads, heads)), np.zeros((heads, heads), dtype=np.int64)

    def add(self, rows: Tensor) -> None:
        """Add a segment. rows: [Q, heads of A and then of B, K], without padding."""
        sums, mass = divergence_sums(rows)
        with one_thread():
            mean, counted = pair_means(sums, mass)
            masses = mass.sum(1).cpu().double().numpy()
        layers = [heads for shape in self.shapes for heads in shape.heads]
        for number, own in enumerate(np.split(masses, np.cumsum(layers)[:-1])):
            refuse_non_finite(
                number if number < self.shapes[0].layers else number - self.shapes[0].layers, own[:, None]
            )
        self._sum += mean.cpu().double().numpy()
        self._count += counted.cpu().numpy()

    def merge(self, other: Self) -> None:
        """Add another's segments to these."""
        self._sum += other._sum
        self._count += other._count

    @property
    def across(self) -> Array:
        """Distances of the heads of A and of B, [HA, HB]; NaN where no segment counts."""
        own = self.shapes[0].total
        return self._means()[:own, own:]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Segments in each distance, [HA, HB]."""
        own = self.shapes[0].total
        return self._count[:own, own:]

    def within(self) -> tuple[float, float]:
        """The mean distance of two heads of A, and of two heads of B; NaN where there is none."""
        own = self.shapes[0].total
        means = self._means()
        blocks = means[:own, :own], means[own:, own:]
        first, second = (block[np.triu_indices(len(block), 1)] for block in blocks)
        return mean_known(first), mean_known(second)

    def _means(self) -> Array:
        with np.errstate(invalid="ignore"):
            return self._sum / self._count


def mean_known(values: Array) -> float:
    """The mean of the values that are there."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def cross_models(
    a: Side, b: Side, segments: Sequence[Segment], *, batch_tokens: int, show_progress: bool = False
) -> Crossing:
    """Let both models, on one device, read the segments, and compare all their heads."""
    shapes = [model.shapes[stack] for model, stack in (a, b)]
    crossing = Crossing(*shapes)
    heads = sum(shape.total for shape in shapes)
    plan = plan_batches(segments, batch_tokens, most_pairs(heads))
    model = a[0]
    with TokenProgress("both models", sum(map(len, segments)), show=show_progress) as progress:
        for batch in iterate_batches(segments, plan, kind_table(model.tokenizer), model.pad_id):
            here = batch.to(model.device)
            layers = [layer for side in (a, b) for layer in _layers(*side, here, heads)]
            for place in range(len(batch.segments)):
                with one_thread():
                    rows = torch.cat([layer[place] for layer in layers], 1)  # [Q, H, K]
                crossing.add(rows)
            progress.advance(batch.tokens)
    return crossing


def _layers(model: Model, stack: Stack, batch: Batch, heads: int) -> list[list[Tensor]]:
    """For every layer and segment the rows to be compared, [Q, H, K]. heads: of both models together."""
    kept: dict[int, list[Tensor]] = {}

    def see(layer: int, weights: Tensor, _mask: Tensor | None) -> None:
        with one_thread():
            kept[layer] = [
                rows_kept(weights[place], len(segment), heads) for place, segment in enumerate(batch.segments)
            ]

    model.observe(batch, see, stack)
    return [rows for _, rows in sorted(kept.items())]
