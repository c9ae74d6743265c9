"""How differently do the heads of two models attend to the same text? (after the paper's section 6)

Both models read the same segments, and the Jensen-Shannon divergence of rows is taken for all pairs of a head of one
and a head of the other: the mean over tokens, 0 to log 2, then over segments, as in the column ``per_token``
of `studies.similarity`. Distances within each model come with it, for scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.batches import Batch, iterate_batches, plan_batches
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.segments import Segment
from headatlas.engine.progress import TokenProgress
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape, Stack
from headatlas.statistics.divergence import divergence_sums
from headatlas.statistics.kernels.threads import one_thread
from headatlas.studies.kept_rows import KeptRows, most_pairs
from headatlas.studies.similarity import pair_means
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
    kept = KeptRows(heads)
    model = a[0]
    with TokenProgress("both models", sum(map(len, segments)), show=show_progress) as progress:
        for batch in iterate_batches(segments, plan, kind_table(model.tokenizer), model.pad_id):
            here = batch.to(model.device)
            _keep_all(kept, a, here, 0)
            _keep_all(kept, b, here, shapes[0].total)
            for rows in kept.take():
                crossing.add(rows)
            progress.advance(batch.tokens)
    return crossing


def _keep_all(kept: KeptRows, side: Side, batch: Batch, first: int) -> None:
    """Let a model read the batch and keep the rows of all its heads, the first of them of that number."""
    model, stack = side
    starts = list(accumulate(model.shapes[stack].heads, initial=first))

    def see(layer: int, weights: Tensor, _mask: Tensor | None) -> None:
        kept.keep(weights, batch, starts[layer])

    model.observe(batch, see, stack)
