"""How broadly does each head attend? The entropy of its rows, of all tokens and from ``[CLS]`` (section 3.3, figure 4).

In nats, beside `log n`, the entropy of attending alike to all n tokens that a row may attend to (in a causal model,
those up to its own place). Rows are scaled to sum 1 first, which changes
nothing but for models with a learned sink, whose rows sum to less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import TokenKind
from headatlas.statistics.surface import Sum
from headatlas.studies.labels import Pattern, Tables
from headatlas.studies.state import State
from headatlas.studies.study import LayerMap, SegmentMeans, Setup
from headatlas.tables import ATTENDS_TO, COUNT, ONE_HEAD, Key, Table, Value, control, interval

FROM_KIND = {"all": "all tokens", "cls": "{cls}"}
NOT_OF_A_HEAD = "it depends on the length of the text, not on a head"
ENTROPY = Table(
    "entropy",
    "How broadly does a head attend, from all tokens and from [CLS]?",
    (
        *ONE_HEAD,
        Key("source", "rows of all tokens, or of [CLS] alone (cls)", labels=FROM_KIND, usual="all", minor=("cls",)),
        Value("nats", "mean entropy of the rows, each scaled to sum 1", "nats"),
        *interval("its 95 % bootstrap interval, over segments", "nats"),
        Value("uniform_nats", "entropy of uniform attention to every token in reach", "nats", why_not=NOT_OF_A_HEAD),
        COUNT,
        control("nats"),
    ),
    section="3.3, figure 4",
    label="entropy[ from {source}] (nats)",
    card=ATTENDS_TO,
    panels=("all",),
    figure=("figure4_entropy", "headatlas.views.figures.layers:entropy_figure"),
)
SOURCES = tuple(FROM_KIND)
ENTROPY_SMOOTHING = 0.0001  # of the paper's released code: a becomes 0.9999 a + 0.0001 / n

BROAD_ENTROPY = 3.8 / math.log(128)  # of the uniform entropy: the paper's 3.8 nats in segments of 128 tokens
BROAD = Pattern("broad", "all tokens", "entropy", "source", "all", BROAD_ENTROPY, "nats", "uniform_nats", "state")


def mean_entropy(sums: Tensor, lengths: Tensor, cls_rows: Tensor) -> Tensor:
    """Mean entropy of a segment's rows and of its ``[CLS]`` rows. sums: [B, H, S] -> [B, H, 2]."""
    return torch.stack(
        [sums[..., Sum.ENTROPY] / lengths[:, None], sums[..., Sum.CLS_ENTROPY] / cls_rows[:, None].clamp_min(1)], -1
    )


def uniform_entropy(batch: Batch, causal: bool) -> Tensor:
    """Mean entropy in nats of uniform rows: of all rows, and of the ``[CLS]`` rows. [B, 2]"""
    lengths = batch.lengths.double()
    if not causal:
        return lengths.log()[:, None].expand(-1, len(SOURCES))
    reach = torch.arange(1, batch.mask.shape[1] + 1, device=lengths.device, dtype=torch.float64).log()  # [T]
    cls = batch.kinds == TokenKind.CLS
    return torch.stack([(reach * batch.mask).sum(1) / lengths, (reach * cls).sum(1) / cls.sum(1).clamp_min(1)], -1)


class Entropy(SegmentMeans):
    """Mean entropy in nats, for every head. smoothing: that of the paper's released code, or none."""

    name = "entropy"
    tables = (ENTROPY,)
    patterns = (BROAD,)
    uniform = State("columns")

    smoothing = 0.0

    def configure(self, setup: Setup) -> None:
        super().configure(setup)
        self.smoothing = ENTROPY_SMOOTHING if setup.definitions == "code" else 0.0

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        batch = layer_map.batch
        return mean_entropy(layer_map.smoothed_surface(self.smoothing), batch.lengths, _cls_rows(batch))

    def counted(self, batch: Batch) -> Tensor:
        """``[CLS]`` entropy needs a ``[CLS]``."""
        counted = super().counted(batch)
        counted[:, SOURCES.index("cls")] = _cls_rows(batch) > 0
        return counted

    def end_batch(self, batch: Batch) -> None:
        """Add the batch's entropies and those of uniform rows."""
        super().end_batch(batch)
        here = batch.to(torch.device("cpu"))
        self.uniform += (uniform_entropy(here, self.causal) * self.counted(here)).sum(0).numpy()

    def further_values(self) -> dict[str, NDArray[np.float64]]:
        with np.errstate(invalid="ignore"):
            return {"uniform_nats": np.tile(self.uniform / self.count, self.shape.total)}

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[str]:
        table = tables["entropy"]
        last = table["layer"].max()
        for source, name in (("all", "all tokens"), ("cls", "[CLS]")):
            rows = table[table["source"] == source].dropna(subset="nats")
            if rows.empty:
                continue
            layers = rows.groupby("layer")["nats"].mean()
            yield (
                f"Entropy from {name}: {layers.iloc[0]:.2f} nats in layer 1, {layers.iloc[-1]:.2f} in layer {last} "
                f"(uniform attention: {rows['uniform_nats'].iloc[0]:.2f})."
            )


def _cls_rows(batch: Batch) -> Tensor:
    return (batch.kinds == TokenKind.CLS).sum(1)
