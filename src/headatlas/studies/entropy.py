"""How broadly does each head attend? The entropy of its rows, of all tokens and from ``[CLS]`` (section 3.3, figure 4).

In nats, beside `log n`, the entropy of attending alike to all n tokens that a row may attend to (in a causal model,
those up to its own place). Rows are scaled to sum 1 first, which changes
nothing but for models with a learned sink, whose rows sum to less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import pandas as pd
import torch
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import TokenKind
from headatlas.statistics.surface import Sum
from headatlas.studies.findings import UNTRAINED, Finding, by_layer, last_layer, name_layers
from headatlas.studies.labels import Pattern, Tables
from headatlas.studies.reductions import Reduction, Surface
from headatlas.studies.segment_means import SegmentMeans, table_of_layers
from headatlas.studies.study import LayerMap, Setup
from headatlas.tables import (
    ATTENDS_TO,
    CONTROL,
    COUNT,
    EXPECTED,
    ONE_HEAD,
    VALUE_INTERVAL,
    Key,
    Table,
    Value,
    control,
    controlled,
    expected,
)
from headatlas.wording import counted, percent

FROM_KIND = {"all": "all tokens", "cls": "{cls}"}
ENTROPY = Table(
    "entropy",
    "How broadly does a head attend, from all tokens and from [CLS]?",
    (
        *ONE_HEAD,
        Key("source", "rows of all tokens, or of [CLS] alone (cls)", labels=FROM_KIND, usual="all", minor=("cls",)),
        Value("value", "mean entropy of the rows, each scaled to sum 1", "nats"),
        *VALUE_INTERVAL,
        expected("nats"),
        COUNT,
        control("nats"),
    ),
    section="3.3, figure 4",
    label="entropy[ from {source}] (nats)",
    card=ATTENDS_TO,
    panels=("all",),
    figure=("figure4_entropy", "headatlas.views.figures.layers:entropy_figure"),
)
ENTROPY_LAYERS = table_of_layers(ENTROPY, {"cls_less_all": "the entropy from [CLS] less that from all tokens"})
SOURCES = tuple(FROM_KIND)
ENTROPY_SMOOTHING = 0.0001  # of the paper's released code: a becomes 0.9999 a + 0.0001 / n

BROAD_ENTROPY = 3.8 / math.log(128)  # of the uniform entropy: the paper's 3.8 nats in segments of 128 tokens
BROAD = Pattern("broad", "all tokens", "entropy", "source", "all", BROAD_ENTROPY, relative_to=EXPECTED, kind="state")


def mean_entropy(sums: Tensor, lengths: Tensor, cls_rows: Tensor) -> Tensor:
    """Mean entropy of a segment's rows and of its ``[CLS]`` rows. sums: [B, H, S] -> [B, H, 2]."""
    return torch.stack(
        [sums[..., Sum.ENTROPY] / lengths[:, None], sums[..., Sum.CLS_ENTROPY] / cls_rows[:, None].clamp_min(1)], -1
    )


class Entropy(SegmentMeans):
    """Mean entropy in nats, for every head. smoothing: that of the paper's released code, or none."""

    name = "entropy"
    tables = (ENTROPY, ENTROPY_LAYERS)
    patterns = (BROAD,)
    contrasts: ClassVar = {"cls_less_all": lambda means: means[..., SOURCES.index("cls")] - means[..., 0]}

    smoothing = 0.0

    def configure(self, setup: Setup) -> None:
        super().configure(setup)
        self.smoothing = ENTROPY_SMOOTHING if setup.definitions == "code" else 0.0

    def reductions(self) -> list[Reduction]:
        return [Surface(self.smoothing)]

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        batch = layer_map.batch
        return mean_entropy(layer_map.smoothed_surface(self.smoothing), batch.lengths, _cls_rows(batch))

    def counted(self, batch: Batch) -> Tensor:
        """``[CLS]`` entropy needs a ``[CLS]``."""
        counted = super().counted(batch)
        counted[:, SOURCES.index("cls")] = _cls_rows(batch) > 0
        return counted

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[Finding | str]:
        table, layers = tables["entropy"], tables["entropy_layers"]
        broad = BROAD.heads(table, BROAD.least)
        yield Finding(
            f"{len(broad)} of {counted(len(BROAD.strengths(table)), 'head')} attend broadly: their entropy is over "
            f"{percent(BROAD.least)} of that of uniform attention",
            len(broad),
            untrained=len(BROAD.heads(table, BROAD.least, CONTROL)) if controlled(table) else None,
            unit="count",
        )
        every, difference = (
            layers[layers["source"] == source].dropna(subset="value") for source in ("all", "cls_less_all")
        )
        if len(every):
            yield _entropy_by_layer(every, table[table["source"] == "all"][EXPECTED].mean())
        if len(difference):
            yield _from_cls(difference)


def _entropy_by_layer(rows: pd.DataFrame, uniform: float) -> Finding:
    """The layers that attend most broadly and most narrowly."""
    most, least = rows.iloc[int(rows["value"].argmax())], rows.iloc[int(rows["value"].argmin())]
    return Finding(
        f"Entropy, mean over the heads of a layer, is highest in layer {most['layer']:.0f}, {most['value']:.2f} nats, "
        f"and lowest in layer {least['layer']:.0f}, {least['value']:.2f}",
        most["value"],
        baselines={"uniform attention": uniform},
        unit="nats",
        evidence=(
            *by_layer(rows, "nats"),
            *([f"{UNTRAINED} {rows[CONTROL].min():.2f} to {rows[CONTROL].max():.2f}"] if controlled(rows) else []),
        ),
    )


def _from_cls(rows: pd.DataFrame) -> Finding:
    """Where [CLS] attends more broadly than other tokens, and where less."""
    broader, narrower = (rows[clear]["layer"] for clear in (rows["low"] > 0, rows["high"] < 0))
    return last_layer(
        f"[CLS] attends more broadly than all tokens do in {len(broader)} of {counted(len(rows), 'layer')} and less "
        f"broadly in {len(narrower)}; in the last the difference is {rows['value'].iloc[-1]:+.2f} nats",
        rows,
        "nats",
        *([f"more in {name_layers(broader)}"] if len(broader) else []),
        *([f"less in {name_layers(narrower)}"] if len(narrower) else []),
    )


def _cls_rows(batch: Batch) -> Tensor:
    return (batch.kinds == TokenKind.CLS).sum(1)
