"""Studies of means: over the tokens of a segment, then over segments, for every head (paper, section 3).

Beside each mean stand its interval, what the same head of an untrained network gives and, if the table has a column for
it, what uniform attention to all tokens in reach gives. A second table may hold the means over the heads of each layer,
and what follows from them, such as the rise from one layer to the next: as heads share segments, their intervals do not
follow from those of the heads.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.errors import PluginError
from headatlas.models.stacks import HeadShape
from headatlas.statistics.kernels.threads import one_thread
from headatlas.statistics.resampling import effective_units, percentile_interval, poisson_weights
from headatlas.statistics.surface import uniform_map
from headatlas.studies.reductions import UniformHead
from headatlas.studies.state import State
from headatlas.studies.study import Frames, LayerMap, Study, refuse_non_finite
from headatlas.tables import CONTROL, EXPECTED, LAYER, VALUE_INTERVAL, Key, Table, Value, control

Array = NDArray[np.float64]


def table_of_layers(of_heads: Table, contrasts: Mapping[str, str]) -> Table:
    """Declare the table of the means over the heads of each layer.

    Args:
        of_heads: The table of a study of segment means, with three keys.
        contrasts: What else is computed from the means of the layers, by name: what it is.
    """
    key, value = of_heads.keys[2], of_heads.measures[0]
    about = "; ".join([key.about, *(f"{name}: {meaning}" for name, meaning in contrasts.items())])
    return Table(
        f"{of_heads.name}_layers",
        f"{of_heads.question} Layer by layer.",
        (
            LAYER,
            Key(key.name, about, key.dtype, {**key.labels, **contrasts}),
            Value("value", f"{value.about}; mean over the heads of the layer", value.unit),
            *VALUE_INTERVAL,
            control(value.unit),
        ),
        section=of_heads.section,
        card=None,
        why_not=f"its rows follow from those of {of_heads.name}, which are compared",
    )


class SegmentMeans(Study):
    """A study of means over the tokens of a segment, then over segments.

    A subclass declares one table. If the table has a third key, there is one value for each of its labels. The subclass
    computes, for each segment and head, one mean per column; a segment in which a column has no meaning (no ``[SEP]``
    row, say) does not count for it. A second table, if declared, is that of `table_of_layers`.

    Attributes:
        columns: The labels of the third key.
        contrasts: What the table of layers holds besides means: functions of the means of all layers, [..., L, C], with
            one value for each layer, [..., L].
    """

    columns: ClassVar[tuple[Any, ...]]
    takes_uniform: ClassVar[bool] = False  # whether the table has a column for what uniform attention gives
    contrasts: ClassVar[Mapping[str, Callable[[Array], Array]]] = {}

    total = State("layers", "heads", "columns")
    count = State("columns")
    drawn_total = State("replicates", "layers", "heads", "columns")
    drawn_count = State("replicates", "columns")
    uniform_total = State("columns")

    def __init_subclass__(cls) -> None:
        if "columns" not in vars(cls) and "tables" in vars(cls):
            keys = cls.tables[0].keys[2:]
            cls.columns = tuple(keys[0].labels) if keys else ("",)
        if "tables" in vars(cls):
            cls.takes_control = CONTROL in cls.tables[0].names
            cls.takes_uniform = EXPECTED in cls.tables[0].names

    @abstractmethod
    def segment_means(self, layer_map: LayerMap) -> Tensor:
        """Compute the values of one layer.

        Args:
            layer_map: The maps of a batch. Only the first `batch.lengths` rows and columns of a segment are real.

        Returns:
            One value for each segment, head and column, [B, H, C].
        """

    def counted(self, batch: Batch) -> Tensor:
        """Say which segments count; by default, all.

        Args:
            batch: The batch.

        Returns:
            Whether each segment counts for each column, [B, C], bool.
        """
        return torch.ones(len(batch.segments), len(self.columns), dtype=torch.bool, device=batch.lengths.device)

    def sizes(self, shape: HeadShape) -> dict[str, int]:
        return super().sizes(shape) | {"columns": len(self.columns)}

    def start(self, shape: HeadShape) -> None:
        super().start(shape)
        self._seen: dict[int, Tensor] = {}

    def see(self, layer: int, layer_map: LayerMap) -> None:
        """Keep the layer's values, on their device, until the batch ends."""
        counted = self.counted(layer_map.batch)[:, None]  # [B, 1, C]
        means = self.segment_means(layer_map)
        expected = (*layer_map.shape, len(self.columns))
        if tuple(means.shape) != expected:
            raise PluginError(
                f"segment_means of the study '{self.name}' returned shape {list(means.shape)}. It must return one "
                f"value for each segment, head and column: {list(expected)}."
            )
        self._seen[layer] = means.masked_fill(~counted, 0)  # [B, H, C]

    def end_batch(self, batch: Batch) -> None:
        """Add the batch's values to the sums, and to those of each bootstrap replicate."""
        values = np.zeros((len(batch.segments), *self.total.shape))
        for layer, seen in sorted(self._seen.items()):
            values[:, layer, : seen.shape[1]] = seen.cpu().double().numpy()
        self._seen.clear()
        total = values.sum(0)
        for layer, of_heads in enumerate(total):
            refuse_non_finite(layer, of_heads)
        counted = self.counted(batch).cpu().double().numpy()
        weights = poisson_weights(self.units(batch), self.replicate_count, self.seed).T.astype(np.float64)  # [R, B]
        self.total += total
        self.count += counted.sum(0)
        drawn = torch.from_numpy(self.drawn_total).view(self.replicate_count, total.size)
        with one_thread():
            drawn.addmm_(torch.from_numpy(weights), torch.from_numpy(values.reshape(len(values), -1)))
        self.drawn_count += weights @ counted
        if self.takes_uniform:
            means = self.segment_means(self._uniform(batch.to(torch.device("cpu"))))[:, 0]
            self.uniform_total += (means.double().numpy() * counted).sum(0)

    def _uniform(self, batch: Batch) -> LayerMap:
        """One head that attends evenly to all tokens in reach."""
        reductions = self.reductions()
        if reductions is None:
            return LayerMap(uniform_map(batch, self.causal), batch, None)
        results = batch.once(UniformHead(self.causal, tuple(reductions)))
        return LayerMap.reduced(results, batch, torch.empty(len(batch.segments), 1))

    def frames(self) -> Frames:
        table = self.means().assign(**self.further_values())
        if self.takes_uniform:
            with np.errstate(invalid="ignore"):
                table[EXPECTED] = np.tile(self.uniform_total / self.count, self.shape.total)
        if self.takes_control:
            table[CONTROL] = np.nan if self.control is None else self.control.values()
        return {self.tables[0].name: table, **{of_layers.name: self.layers() for of_layers in self.tables[1:]}}

    def layers(self) -> pd.DataFrame:
        """One row per layer (from 1) and column or contrast: the mean over heads, its interval, and the control's."""
        names = (*self.columns, *self.contrasts)
        values = self._layer_means(self.total, self.count)
        units = effective_units(self.drawn_count)
        units = np.append(units, np.full(len(self.contrasts), units.min()))
        drawn = self._layer_means(self.drawn_total, self.drawn_count[:, None])
        low, high = percentile_interval(drawn, np.tile(units, (len(values), 1)))
        of_control = None if self.control is None else self.control._layer_means(self.control.total, self.control.count)
        return pd.DataFrame(
            {
                "layer": np.repeat(np.arange(1, len(values) + 1), len(names)),
                self.tables[0].keys[2].name: list(names) * len(values),
                "value": values.ravel(),
                "low": low.ravel(),
                "high": high.ravel(),
                CONTROL: np.nan if of_control is None else of_control.ravel(),
            }
        )

    def _layer_means(self, total: Array, count: Array) -> Array:
        """Means over the heads of each layer, and the contrasts of these: [..., L, C + contrasts]."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means = total.sum(-2) / np.array(self.shape.heads)[:, None] / count
            contrasts = [contrast(means)[..., None] for contrast in self.contrasts.values()]
        return np.concatenate([means, *contrasts], -1)

    def values(self) -> Array:
        """The mean of every row; NaN where nothing counts."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.in_rows(self.total / self.count)

    def further_values(self) -> dict[str, Array]:
        """The declared values besides the mean, its interval and the count: one number per row."""
        return {}

    def means(self) -> pd.DataFrame:
        """One row per head (from 1) and column, with the mean, its interval and the count; NaN where count is 0."""
        table = self.tables[0]
        values = self.values()
        units = effective_units(self.drawn_count)
        ends = [percentile_interval(drawn, np.tile(units, heads)) for heads, drawn in self._drawn_means()]
        low, high = (np.concatenate(of_layers) for of_layers in zip(*ends, strict=True))
        places = self.shape.numbered
        layer, head = np.repeat(np.array(places), len(self.columns), axis=0).T
        keys = {key.name: list(self.columns) * len(places) for key in table.keys[2:3]}
        count = np.tile(self.count.astype(np.int64), len(places))
        columns = {"layer": layer, "head": head, **keys, table.measures[0].name: values, "low": low, "high": high}
        return pd.DataFrame({**columns, "count": count})

    def replicates(self) -> dict[str, Array]:
        """Bootstrap values of the rows, [R, rows]; NaN where no segment that counts was drawn."""
        return {self.tables[0].name: np.concatenate([drawn for _, drawn in self._drawn_means()], axis=1)}

    def _drawn_means(self) -> Iterator[tuple[int, Array]]:
        """The number of heads of each layer, and the bootstrap values of its rows, [R, heads * C]."""
        for layer, heads in enumerate(self.shape.heads):
            with np.errstate(invalid="ignore", divide="ignore"):
                drawn = self.drawn_total[:, layer, :heads] / self.drawn_count[:, None]
            yield heads, drawn.reshape(len(drawn), heads * len(self.columns))

    def in_rows(self, values: Array) -> Array:
        """Values [..., L, H, C] of the heads there are, in the order of the table's rows: [..., rows]."""
        exists = np.arange(self.shape.most_heads) < np.array(self.shape.heads)[:, None]  # [L, H]
        of_heads = values[..., exists, :]
        return of_heads.reshape(*of_heads.shape[:-2], -1)
