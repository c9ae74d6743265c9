"""What a study is: a running sum over batches that merges with others of its kind.

Because of that many studies share one forward pass, memory does not grow with the corpus, two machines give the
table of one, and a run that was killed continues from its last state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.errors import ModelError
from headatlas.models.stacks import HeadShape
from headatlas.statistics.surface import surface_sums

State = dict[str, NDArray[Any]]  # floats, or integers where sums are counts


class LayerMap:
    """One layer's maps of a batch as studies see them: the weights, or the gradient of the loss to them."""

    def __init__(self, weights: Tensor, batch: Batch, mask: Tensor | None, smoothing: float = 0.0) -> None:
        self.weights = weights  # [B, H, Q, K]
        self.batch = batch
        self.mask = mask  # additive, [B or 1, 1, Q, K], or None
        self._smoothing = smoothing

    @cached_property
    def surface(self) -> Tensor:
        """The fused sums, taken once however many studies ask. [B, H, len(Sum)]"""
        return surface_sums(self.weights, self.batch, self._smoothing)


class Study(ABC):
    """One question asked of every head."""

    name: ClassVar[str]
    watches: ClassVar[Literal["attention", "gradients"]] = "attention"
    corpus: ClassVar[Literal["text", "treebank", "coreference"]] = "text"  # the kind of corpus it needs

    def __init__(self, causal: bool = False) -> None:
        self.causal = causal  # whether a token attends only to itself and those before it

    @abstractmethod
    def start(self, shape: HeadShape) -> None:
        """Prepare empty sums for a stack of heads."""

    @abstractmethod
    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Take in one layer (from 0) of the current batch."""

    @abstractmethod
    def end_batch(self, batch: Batch) -> None:
        """Add what was seen of the batch to the sums, all layers at once."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add another study's sums to these."""

    @abstractmethod
    def state(self) -> State:
        """The sums, to be saved."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Take over saved sums."""

    @abstractmethod
    def table(self) -> pd.DataFrame:
        """The answer as a tidy table."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables of the study, by name; most have one."""
        return {self.name: self.table()}


class SegmentMeans(Study):
    """A study whose values are means over the tokens of a segment, then over segments (paper, section 3).

    A subclass names its columns and computes, for each segment and head, one mean a column; a segment where a
    column has no meaning (no ``[SEP]`` row, say) does not count for it.
    """

    columns: ClassVar[tuple[str, ...]]

    @abstractmethod
    def segment_means(self, layer_map: LayerMap) -> Tensor:
        """One value for each segment, head and column: [B, H, C]."""

    def counted(self, batch: Batch) -> Tensor:
        """Which segments count for which column: [B, C], bool."""
        return torch.ones(len(batch.segments), len(self.columns), dtype=torch.bool, device=batch.lengths.device)

    def start(self, shape: HeadShape) -> None:
        """Prepare empty sums for a stack of heads."""
        self.shape = shape
        self._total = np.zeros((shape.layers, shape.most_heads, len(self.columns)))
        self._count = np.zeros(len(self.columns))
        self._seen: dict[int, Tensor] = {}

    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Keep the layer's values, on their device, until the batch ends."""
        counted = self.counted(layer_map.batch)[:, None]  # [B, 1, C]
        self._seen[layer] = self.segment_means(layer_map).masked_fill(~counted, 0).sum(0)  # [H, C]

    def end_batch(self, batch: Batch) -> None:
        """Add the batch's values to the sums."""
        added = [(layer, values.cpu().double().numpy()) for layer, values in sorted(self._seen.items())]
        for layer, values in added:
            refuse_non_finite(layer, values)
        for layer, values in added:
            self._total[layer, : len(values)] += values
        self._count += self.counted(batch).sum(0).cpu().double().numpy()
        self._seen.clear()

    def merge(self, other: Self) -> None:
        """Add another study's sums to these."""
        self._total += other._total
        self._count += other._count

    def state(self) -> State:
        """The sums, to be saved."""
        return {"total": self._total, "count": self._count}

    def restore(self, state: State) -> None:
        """Take over saved sums."""
        self._total, self._count = state["total"].copy(), state["count"].copy()

    def means(self) -> pd.DataFrame:
        """One row a head and column: layer, head (from 1), column, value, count. Value is NaN where count is 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self._total / self._count
        rows = [
            (layer + 1, head + 1, column, values[layer, head, k], int(self._count[k]))
            for layer, heads in enumerate(self.shape.heads)
            for head in range(heads)
            for k, column in enumerate(self.columns)
        ]
        return pd.DataFrame(rows, columns=["layer", "head", "column", "value", "count"])


def refuse_non_finite(layer: int, values: NDArray[np.float64]) -> None:
    """A map with NaN or infinite numbers must not turn into a table."""
    bad = np.flatnonzero(~np.isfinite(values).all(axis=-1))
    if len(bad):
        heads = ", ".join(f"{layer + 1}-{head + 1}" for head in bad)
        raise ModelError(
            f"The attention of head {heads} (layer-head, from 1) is not finite on this text. If the model runs in "
            "float16, try --dtype float32 or bfloat16; otherwise its weights are damaged."
        )
