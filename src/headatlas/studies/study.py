"""What a study is: a running sum over batches that merges with others of its kind.

Because of that many studies share one forward pass, memory does not grow with the corpus, two machines give the
table of one, and a run that was killed continues from its last state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
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
from headatlas.statistics.kernels.threads import one_thread
from headatlas.statistics.resampling import percentile_interval, poisson_weights
from headatlas.statistics.surface import surface_sums
from headatlas.statistics.tally import Tally
from headatlas.statistics.words import FromTokens, WordIndex, word_attention

REPLICATES = 1000
State = dict[str, NDArray[Any]]  # floats, or integers where sums are counts
Reduce = Literal["sum", "max"]  # how the sums of two parts of a corpus become those of both


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
    corpus: ClassVar[Literal["text", "treebank", "coreference", "keyphrases"]] = "text"  # the kind of corpus it needs

    def __init__(self, causal: bool = False, *, seed: int = 0, replicates: int = REPLICATES) -> None:
        self.causal = causal  # whether a token attends only to itself and those before it
        self._seed, self._replicates = seed, replicates  # of the bootstrap
        self._sums: State = {}
        self._reduce: dict[str, Reduce] = {}

    @abstractmethod
    def start(self, shape: HeadShape) -> None:
        """Prepare empty sums for a stack of heads."""

    def add(self, name: str, shape: tuple[int, ...], reduce: Reduce = "sum") -> NDArray[np.float64]:
        """Declare a sum, zeros at first, to be changed in place; merging, saving and restoring it follow from that."""
        self._reduce[name] = reduce
        self._sums[name] = np.zeros(shape)
        return self._sums[name]

    def batch_pairs(self) -> int | None:
        """How many pairs of tokens a batch may have so that what is kept of it fits the memory; None: any."""
        return None

    @abstractmethod
    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Take in one layer (from 0) of the current batch."""

    @abstractmethod
    def end_batch(self, batch: Batch) -> None:
        """Add what was seen of the batch to the sums, all layers at once."""

    def merge(self, other: Self) -> None:
        """Add another study's sums to these."""
        for name, sums in self._sums.items():
            combine = np.add if self._reduce[name] == "sum" else np.maximum
            combine(sums, other._sums[name], out=sums)

    def state(self) -> State:
        """The sums, to be saved."""
        return self._sums

    def restore(self, state: State) -> None:
        """Take over saved sums."""
        for name, sums in self._sums.items():
            sums[...] = state[name]

    @abstractmethod
    def table(self) -> pd.DataFrame:
        """The answer as a tidy table."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables of the study, by name; most have one."""
        return {self.name: self.table()}

    def replicates(self) -> dict[str, NDArray[np.float64]]:
        """Bootstrap values of the rows of each table that has them, [R, rows], in the rows' order.

        Under a table's name are those of its first value; under "table/value" those of another, or of one that follows
        from the table's columns.
        """
        return {}


class SegmentMeans(Study):
    """A study of means over the tokens of a segment, then over segments (paper, section 3).

    A subclass names its columns and computes, for each segment and head, one mean a column; a segment where a
    column has no meaning (no ``[SEP]`` row, say) does not count for it.
    """

    columns: ClassVar[tuple[str, ...]]
    column_name: ClassVar[str] = "column"  # in the table

    @abstractmethod
    def segment_means(self, layer_map: LayerMap) -> Tensor:
        """One value for each segment, head and column: [B, H, C]."""

    def counted(self, batch: Batch) -> Tensor:
        """Which segments count for which column: [B, C], bool."""
        return torch.ones(len(batch.segments), len(self.columns), dtype=torch.bool, device=batch.lengths.device)

    def units(self, batch: Batch) -> list[str]:
        """What the bootstrap resamples: the name of each segment's unit."""
        return [segment.id for segment in batch.segments]

    def start(self, shape: HeadShape) -> None:
        self.shape = shape
        self._total = self.add("total", (shape.layers, shape.most_heads, len(self.columns)))
        self._count = self.add("count", (len(self.columns),))
        self._drawn_total = self.add("drawn_total", (self._replicates, *self._total.shape))
        self._drawn_count = self.add("drawn_count", (self._replicates, *self._count.shape))
        self._seen: dict[int, Tensor] = {}

    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Keep the layer's values, on their device, until the batch ends."""
        counted = self.counted(layer_map.batch)[:, None]  # [B, 1, C]
        self._seen[layer] = self.segment_means(layer_map).masked_fill(~counted, 0)  # [B, H, C]

    def end_batch(self, batch: Batch) -> None:
        """Add the batch's values to the sums, and to those of each bootstrap replicate."""
        values = np.zeros((len(batch.segments), *self._total.shape))
        for layer, seen in sorted(self._seen.items()):
            values[:, layer, : seen.shape[1]] = seen.cpu().double().numpy()
        self._seen.clear()
        total = values.sum(0)
        for layer, of_heads in enumerate(total):
            refuse_non_finite(layer, of_heads)
        counted = self.counted(batch).cpu().double().numpy()
        weights = poisson_weights(self.units(batch), self._replicates, self._seed).T.astype(np.float64)  # [R, B]
        self._total += total
        self._count += counted.sum(0)
        drawn = torch.from_numpy(self._drawn_total).view(self._replicates, -1)
        with one_thread():
            drawn.addmm_(torch.from_numpy(weights), torch.from_numpy(values.reshape(len(values), -1)))
        self._drawn_count += weights @ counted

    def table(self) -> pd.DataFrame:
        return self.means()

    def means(self) -> pd.DataFrame:
        """One row per head and column: layer, head (from 1), column, value, low, high, count; NaN where count is 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self._in_rows(self._total / self._count)
        low, high = percentile_interval(self._drawn_means())
        places = self.shape.numbered
        layer, head = np.repeat(np.array(places), len(self.columns), axis=0).T
        return pd.DataFrame(
            {
                "layer": layer,
                "head": head,
                self.column_name: list(self.columns) * len(places),
                "value": values,
                "low": low,
                "high": high,
                "count": np.tile(self._count.astype(np.int64), len(places)),
            }
        )

    def replicates(self) -> dict[str, NDArray[np.float64]]:
        """Bootstrap values of the rows, [R, rows]; NaN where no segment that counts was drawn."""
        return {self.name: self._drawn_means()}

    def _drawn_means(self) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._in_rows(self._drawn_total / self._drawn_count[:, None, None])

    def _in_rows(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values [..., L, H, C] of the heads there are, in the order of the table's rows: [..., rows]."""
        exists = np.arange(self.shape.most_heads) < np.array(self.shape.heads)[:, None]  # [L, H]
        of_heads = values[..., exists, :]
        return of_heads.reshape(*of_heads.shape[:-2], -1)


class WordStudy(Study):
    """A study that counts what each head says rightly about words, in tallies that it names."""

    def __init__(
        self,
        causal: bool = False,
        *,
        how: FromTokens = "mean",
        seed: int = 0,
        replicates: int = REPLICATES,
        permutations: int = REPLICATES,
    ) -> None:
        super().__init__(causal, seed=seed, replicates=replicates)
        self._how, self._permutations = how, permutations

    def start_tallies(self, names: Sequence[str], candidates: int, baselines: int, categories: int) -> None:
        """Prepare an empty tally under each name."""
        resampling = {"seed": self._seed, "replicates": self._replicates, "permutations": self._permutations}
        self._tallies = {name: Tally(candidates, baselines, categories, **resampling) for name in names}
        self._mass: dict[int, Tensor] = {}

    def word_maps(self, layer: int, layer_map: LayerMap, index: WordIndex) -> Tensor:
        """The layer's attention between words, [B, H, W, W]; `refuse_damaged` checks it when the batch ends."""
        maps = word_attention(layer_map.weights, index.index, index.size, self._how)
        with one_thread():
            self._mass[layer] = maps.sum((0, 2, 3))[:, None]  # [H, 1]
        return maps

    def refuse_damaged(self) -> None:
        """Raise if a map of this batch has numbers that are not finite."""
        for layer, mass in sorted(self._mass.items()):
            refuse_non_finite(layer, mass.cpu().double().numpy())
        self._mass.clear()

    def merge(self, other: Self) -> None:
        for name, tally in self._tallies.items():
            tally.merge(other._tallies[name])

    def state(self) -> State:
        return {name: tally.state()["sums"] for name, tally in self._tallies.items()}

    def restore(self, state: State) -> None:
        for name, tally in self._tallies.items():
            tally.restore({"sums": state[name]})


def join_layers(of_layers: Mapping[int, Tensor]) -> Tensor:
    """What was kept of each layer, [N, columns], side by side in the layers' order, on the device of the first."""
    layers = [of_layers[layer] for layer in sorted(of_layers)]
    return torch.cat([values.to(layers[0].device) for values in layers], 1)


def refuse_non_finite(layer: int, values: NDArray[np.float64]) -> None:
    """A map with NaN or infinite numbers must not turn into a table."""
    bad = np.flatnonzero(~np.isfinite(values).all(axis=-1))
    if len(bad):
        heads = ", ".join(f"{layer + 1}-{head + 1}" for head in bad)
        raise ModelError(
            f"The attention of head {heads} (layer-head, from 1) is not finite on this text. If the model runs in "
            "float16, try --dtype float32 or bfloat16; otherwise its weights are damaged."
        )
