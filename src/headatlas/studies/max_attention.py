"""How much does a head put on the one token it attends to most? (section 3.3)

The paper's broad heads "put at most 10 % on any one word". `value` is the mean over rows of the largest weight,
`highest` the largest weight of any row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.models.stacks import HeadShape
from headatlas.statistics.surface import Sum
from headatlas.studies.findings import Finding
from headatlas.studies.labels import Tables
from headatlas.studies.reductions import Reduction, Surface
from headatlas.studies.segment_means import SegmentMeans
from headatlas.studies.state import State
from headatlas.studies.study import LayerMap
from headatlas.tables import (
    ATTENDS_TO,
    CONTROL,
    COUNT,
    ONE_HEAD,
    VALUE_INTERVAL,
    Table,
    Value,
    control,
    controlled,
    expected,
)
from headatlas.wording import counted, percent

MAX_ATTENTION = Table(  # the paper: "at most 10 % of their attention mass on any single word"
    "max_attention",
    "How much attention goes to the most attended token?",
    (
        *ONE_HEAD,
        Value("value", "mean over rows of the largest weight, 0 to 1", "share"),
        *VALUE_INTERVAL,
        Value("highest", "the largest weight in any row", "probability", label="largest weight anywhere", minor=True),
        COUNT,
        expected("share"),
        control("share"),
    ),
    section="3.3",
    label="largest weight per row, mean",
    short="largest weight per row",
    card=ATTENDS_TO,
)
BROAD_WEIGHT = 0.1  # mean largest weight of the paper's broad heads: at most 10 % on any one word


class MaxAttention(SegmentMeans):
    """The largest weight of a row, for every head."""

    name = "max_attention"
    tables = (MAX_ATTENTION,)
    highest = State("layers", "heads", reduce="max")

    def start(self, shape: HeadShape) -> None:
        super().start(shape)
        self._highest_seen: dict[int, Tensor] = {}

    def reductions(self) -> list[Reduction]:
        return [Surface()]

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        return layer_map.surface[..., [Sum.MAXIMUM]] / layer_map.batch.lengths[:, None, None]

    def see(self, layer: int, layer_map: LayerMap) -> None:
        super().see(layer, layer_map)
        self._highest_seen[layer] = layer_map.surface[..., Sum.HIGHEST].amax(0)  # [H]

    def end_batch(self, batch: Batch) -> None:
        super().end_batch(batch)
        for layer, values in self._highest_seen.items():
            known = self.highest[layer, : len(values)]
            np.maximum(known, values.cpu().double().numpy(), out=known)
        self._highest_seen.clear()

    def further_values(self) -> dict[str, NDArray[np.float64]]:
        return {"highest": self.in_rows(self.highest[..., None])}

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[Finding]:
        table = tables["max_attention"]
        heads = table[table["value"] <= BROAD_WEIGHT]
        sure = int((table["high"] <= BROAD_WEIGHT).sum())
        above = int((heads["highest"] > BROAD_WEIGHT).sum())
        yield Finding(
            f"{len(heads)} of {counted(len(table), 'head')} put at most {percent(BROAD_WEIGHT)} of their attention on "
            "any one token, on average over rows",
            len(heads),
            untrained=int((table[CONTROL] <= BROAD_WEIGHT).sum()) if controlled(table) else None,
            unit="count",
            evidence=(
                *([f"whole 95 % CI below: {sure}"] if sure < len(heads) else []),
                *([f"more in single rows: {above} of these"] if above else []),
            ),
        )
