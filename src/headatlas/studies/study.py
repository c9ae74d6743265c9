"""What a study is: a running sum over batches that merges with others of its kind.

Because of that many studies share one forward pass, memory does not grow with the corpus, two machines give the
table of one, and a run that was killed continues from its last state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.choices import Definitions, FromTokens
from headatlas.encoding.batches import Batch
from headatlas.encoding.segments import document_of
from headatlas.errors import ModelError, PluginError
from headatlas.models.stacks import HeadShape
from headatlas.statistics.kernels.threads import one_thread
from headatlas.statistics.tally import Tally
from headatlas.studies.findings import Finding
from headatlas.studies.labels import Label, Pattern, Tables
from headatlas.studies.reductions import Reduction, Surface, Words
from headatlas.studies.state import Stateful
from headatlas.tables import Table

REPLICATES = 1000
Frames = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Setup:
    """What decides the results of a study, apart from the model and the corpus.

    Attributes:
        causal: Whether a token attends only to itself and those before it.
        seed: Seed of the bootstrap.
        bootstrap: Number of bootstrap replicates, and of permutations.
        least_count: Relations with fewer words get no best head.
        definitions: Whose way of computing: ours, the paper's, or that of its released code.
        corpus: What is known of the corpus, as its kind describes it for the manifest.
    """

    causal: bool = False
    seed: int = 0
    bootstrap: int = REPLICATES
    least_count: int = 100
    definitions: Definitions = "ours"
    corpus: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words_from(self) -> FromTokens:
        """How the attention from a word follows from that of its tokens."""
        return "first" if self.definitions == "code" else "mean"


class LayerMap:
    """One layer's maps of a batch as studies see them: the weights, or the gradient of the loss to them.

    All studies see the same tensors, so none may change them.

    Attributes:
        batch: The batch, on the layer's device.
        mask: The model's additive mask, [B or 1, 1, Q, K], or None. Only beside whole maps.
    """

    def __init__(self, weights: Tensor, batch: Batch, mask: Tensor | None) -> None:
        self._weights: Tensor | None = weights
        self.batch, self.mask = batch, mask
        self.shape: tuple[int, int] = (weights.shape[0], weights.shape[1])
        self.device = weights.device
        self._results: dict[Reduction, Any] = {}

    @classmethod
    def reduced(cls, results: dict[Reduction, Any], batch: Batch, like: Tensor) -> Self:
        """A layer of which only the results of reductions are left. like: [B, H, ...] on its device."""
        layer_map = cls(like, batch, None)
        layer_map._weights, layer_map._results = None, results
        return layer_map

    @property
    def weights(self) -> Tensor:
        """How much each token attends to each other, [B, H, Q, K]: for studies that name no reductions.

        Rows of padding hold anything; columns of padding hold 0.
        """
        if self._weights is None:
            raise PluginError("it reads whole maps, but its method `reductions` says that it does not need them")
        return self._weights

    def of(self, reduction: Reduction, layer: int = 0) -> Any:
        """The result of a reduction, computed once however many studies ask.

        Args:
            reduction: One that the study names in `reductions`; of whole maps, any.
            layer: The number of the layer, for a reduction that keeps layers apart.
        """
        if reduction not in self._results:
            self._results[reduction] = reduction.of_maps(layer, self.weights, self.batch, self.mask)
        return self._results[reduction]

    @property
    def surface(self) -> Tensor:
        """The fused sums of `statistics.surface.Sum`: [B, H, len(Sum)]. The reduction is `Surface()`."""
        return self.smoothed_surface(0.0)

    def smoothed_surface(self, smoothing: float) -> Tensor:
        """The fused sums with smoothed entropies. [B, H, len(Sum)]"""
        sums: Tensor = self.of(Surface(smoothing))
        return sums


class Study(Stateful, ABC):
    """One question asked of every head.

    A subclass declares its name, its tables and its states, takes in maps (`see`, `end_batch`) and makes the tables
    (`frames`). If the answer is a mean over segments, derive from `segment_means.SegmentMeans` instead.

    Attributes:
        name: What people type after --studies.
        tables: The declarations of the tables that `frames` makes.
        corpus: The kind of corpus that it needs.
        watches: What it sees: attention, or gradients of the loss to attention.
        patterns: Patterns of attention that its tables measure, for labels and findings.
        takes_control: Whether it shows the results of random weights beside its own, in `control`.
    """

    name: ClassVar[str]
    tables: ClassVar[tuple[Table, ...]]
    corpus: ClassVar[str] = "text"
    watches: ClassVar[Literal["attention", "gradients"]] = "attention"
    patterns: ClassVar[tuple[Pattern, ...]] = ()
    takes_control: ClassVar[bool] = False

    control: Self | None = None  # the same study of the same network with random weights, if it was run

    def __init__(self, causal: bool = False, *, seed: int = 0, replicates: int = REPLICATES) -> None:
        self.causal, self.seed, self.replicate_count = causal, seed, replicates
        self.resampled_by = "input"

    def configure(self, setup: Setup) -> None:
        """Take over the settings of a survey, before anything is seen.

        Args:
            setup: The settings, and what is known of the corpus.
        """
        self.causal, self.seed, self.replicate_count = setup.causal, setup.seed, setup.bootstrap
        self.resampled_by = setup.corpus.get("resampled_by", self.resampled_by)

    def omit_replicates(self) -> None:
        """Keep no bootstrap replicates, before anything is seen: of random weights no interval is shown."""
        self.replicate_count = 0

    def units(self, batch: Batch) -> list[str]:
        """Name what the bootstrap resamples, for each segment: its document, or itself where documents are few."""
        by_document = self.resampled_by == "document"
        return [document_of(segment) if by_document else segment.id for segment in batch.segments]

    def sizes(self, shape: HeadShape) -> dict[str, int]:
        """The lengths of the axes that states may name."""
        return {
            "layers": shape.layers,
            "heads": shape.most_heads,
            "all_heads": shape.total,
            "replicates": self.replicate_count,
        }

    def start(self, shape: HeadShape) -> None:
        """Prepare empty sums for a stack of heads."""
        self.shape = shape
        self.reset(self.sizes(shape))

    def reductions(self) -> Sequence[Reduction] | None:
        """What the study needs of each layer; by default whole maps, which take memory for all pairs of tokens.

        Returns:
            The reductions that it asks its layer maps for, once it is configured and started; None for whole maps.
        """
        return None

    def batch_pairs(self) -> int | None:
        """How many pairs of tokens a batch may have so that what is kept of it fits the memory; None: any."""
        return None

    @abstractmethod
    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Take in one layer of the current batch.

        Args:
            layer: The number of the layer, from 0. Layers may come in any order.
            layer_map: Its maps.
        """

    @abstractmethod
    def end_batch(self, batch: Batch) -> None:
        """Add what was seen of the batch to the states, all layers at once.

        Args:
            batch: The batch whose layers were seen.
        """

    @abstractmethod
    def frames(self) -> Frames:
        """Make the tables from the states.

        Returns:
            Every declared table by name, with exactly its declared columns; layers and heads count from 1.
        """

    def replicates(self) -> dict[str, NDArray[np.float64]]:
        """Bootstrap values of the rows of each table that has them, [R, rows], in the rows' order.

        Under a table's name are those of its first measure; under "table/measure" those of another.
        """
        return {}

    @classmethod
    def labels(cls, tables: Tables) -> Iterator[Label]:
        """Say what heads are called; by default, after the declared patterns.

        Args:
            tables: The tables of this study, and of those before it.

        Yields:
            A label for each head that earns one.
        """
        for pattern in cls.patterns:
            yield from pattern.labels(tables[pattern.table])

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[Finding | str]:
        """Say what the tables show; by default, which heads show the declared patterns.

        Args:
            tables: The tables of this study, and of those before it.

        Yields:
            Findings, or plain sentences where nothing is claimed of a head.
        """
        for pattern in cls.patterns:
            if pattern.is_possible(tables[pattern.table]):
                yield pattern.finding(tables[pattern.table])


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
        self.how, self.permutations = how, permutations

    def configure(self, setup: Setup) -> None:
        super().configure(setup)
        self.how, self.permutations = setup.words_from, setup.bootstrap

    def start_tallies(self, names: Sequence[str], candidates: int, baselines: int, categories: int) -> dict[str, Tally]:
        """Prepare an empty tally under each name."""
        resampling = {"seed": self.seed, "replicates": self.replicate_count, "permutations": self.permutations}
        self._mass: dict[int, Tensor] = {}
        return {name: self.keep(name, Tally(candidates, baselines, categories, **resampling)) for name in names}

    def reductions(self) -> Sequence[Reduction]:
        return [Words(self.how)]

    def check_later(self, layer: int, maps: Tensor) -> Tensor:
        """The layer's attention of words, [B, H, N, W]; `refuse_damaged` checks it when the batch ends."""
        with one_thread():
            self._mass[layer] = maps.sum((0, 2, 3))[:, None]  # [H, 1]
        return maps

    def refuse_damaged(self) -> None:
        """Raise if a map of this batch has numbers that are not finite."""
        for layer, mass in sorted(self._mass.items()):
            refuse_non_finite(layer, mass.cpu().double().numpy())
        self._mass.clear()


def check_sums(study: Study) -> None:
    """Refuse sums that are not numbers, before they turn into tables."""
    for name, array in study.state().items():
        if np.issubdtype(array.dtype, np.floating) and np.isnan(array).any():
            raise PluginError(f"its state '{name}' holds values that are not numbers (NaN)")


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
