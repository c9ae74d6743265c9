"""How much attention goes to ``[CLS]``, ``[SEP]``, periods and commas, and does ``[SEP]`` attend to itself?
(sections 3.1 and 3.2, figure 2)

The kinds `cls`, `sep`, `first`, `period_comma` and `other` share out a row's attention; `sep_to_sep` and `other_to_sep`
are the attention to ``[SEP]`` of the ``[SEP]`` rows and of all other rows. A model whose input has no ``[CLS]`` often
puts on the first token of a segment what others put there: `first` is the attention to it, whatever token it is.
`resting` is the attention to all three together, the tokens to which heads attend when they have nothing to do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import TokenKind
from headatlas.statistics.surface import Sum
from headatlas.studies.findings import Finding, by_layer, heads_in, name_layers, written_share
from headatlas.studies.labels import MOSTLY, Pattern, Tables
from headatlas.studies.reductions import Reduction, Surface
from headatlas.studies.segment_means import SegmentMeans, table_of_layers
from headatlas.studies.study import LayerMap
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

TO_KIND = {"cls": "{cls}", "sep": "{sep}", "period_comma": "periods and commas", "other": "other tokens"}
FROM_KIND = {"sep_to_sep": "{sep}, from {sep}", "other_to_sep": "{sep}, from other tokens"}
KIND = Key(
    "kind",
    "cls, sep, first, period_comma, other: to such tokens from all rows (together 1, less what a learned sink takes); "
    "first: the first token of a segment, if it is not [CLS] or [SEP]; sep_to_sep: from [SEP] rows to [SEP]; "
    "other_to_sep: from all other rows to [SEP]; resting: to cls, sep and first together",
    labels={**TO_KIND, "first": "the first token", "resting": "tokens to rest on", **FROM_KIND},
    minor=tuple(FROM_KIND),
)
TOKEN_KINDS = Table(
    "token_kinds",
    "How much attention goes to [CLS], [SEP], the first token, periods and commas? Does [SEP] attend to itself?",
    (
        *ONE_HEAD,
        KIND,
        Value("value", "mean attention, 0 to 1", "share"),
        *VALUE_INTERVAL,
        COUNT,
        expected("share"),
        control("share"),
    ),
    section="3.2, figure 2",
    label="attention to {kind}",
    short="{kind}",
    card=ATTENDS_TO,
    panels=("cls", "sep", "first", "period_comma"),
    figure=("figure2_token_kinds", "headatlas.views.figures.layers:token_kinds_figure"),
)
TOKEN_KINDS_LAYERS = table_of_layers(
    TOKEN_KINDS, {f"{kind}_rise": f"attention to {{{kind}}} less that of the layer before" for kind in ("cls", "sep")}
)
KIND_NAMES = {"cls": "[CLS]", "sep": "[SEP]", "period_comma": "periods and commas", "other": "other"}
DEVOTED = 0.6  # of a head's attention, for a label after a kind of token
RESTS = 0.3  # of a head's attention on tokens to rest on: such a head is said to rest
CLS, SEP, PERIOD_COMMA = (
    Pattern(KIND_NAMES[kind], KIND_NAMES[kind], "token_kinds", "kind", kind, DEVOTED)
    for kind in ("cls", "sep", "period_comma")
)
FIRST = Pattern("first token", "the first token", "token_kinds", "kind", "first", DEVOTED)
RESTING_PLACES = (CLS, SEP, FIRST)
KINDS = tuple(KIND.labels)


def attention_to_kinds(sums: Tensor, batch: Batch) -> Tensor:
    """Mean attention to each kind. sums: [B, H, S] -> [B, H, kinds]."""
    to_cls, to_sep, to_mark = (sums[..., name] for name in (Sum.TO_CLS, Sum.TO_SEP, Sum.TO_PERIOD_COMMA))
    to_first = sums[..., Sum.TO_FIRST] * _ordinary_first(batch)[:, None]
    to_mark = to_mark - to_first * (batch.kinds[:, :1] == TokenKind.PERIOD_COMMA)
    resting = to_cls + to_sep + to_first
    from_sep = sums[..., Sum.SEP_TO_SEP]
    rows, sep = batch.lengths[:, None], _rows_of(TokenKind.SEP, batch)[:, None]
    return torch.stack(
        [
            to_cls / rows,
            to_sep / rows,
            to_mark / rows,
            (sums[..., Sum.TOTAL] - resting - to_mark) / rows,
            to_first / rows,
            resting / rows,
            from_sep / sep.clamp_min(1),
            (to_sep - from_sep) / (rows - sep).clamp_min(1),
        ],
        -1,
    )


def _rise(kind: str, means: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.diff(means[..., KINDS.index(kind)], axis=-1, prepend=np.nan)


class TokenKinds(SegmentMeans):
    """Mean attention to each kind of token, for every head."""

    name = "token_kinds"
    tables = (TOKEN_KINDS, TOKEN_KINDS_LAYERS)
    patterns = (CLS, SEP, FIRST, PERIOD_COMMA)
    contrasts: ClassVar = {"cls_rise": partial(_rise, "cls"), "sep_rise": partial(_rise, "sep")}

    def reductions(self) -> list[Reduction]:
        return [Surface()]

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        return attention_to_kinds(layer_map.surface, layer_map.batch)

    def counted(self, batch: Batch) -> Tensor:
        """What is said of a kind of token needs one in the segment: without it there is no value, not 0."""
        counted = super().counted(batch)
        sep_rows = _rows_of(TokenKind.SEP, batch)
        counted[:, KINDS.index("cls")] = _rows_of(TokenKind.CLS, batch) > 0
        counted[:, KINDS.index("first")] = _ordinary_first(batch)
        counted[:, [KINDS.index("sep"), KINDS.index("sep_to_sep")]] = (sep_rows > 0)[:, None]
        counted[:, KINDS.index("other_to_sep")] = (sep_rows > 0) & (batch.lengths > sep_rows)
        return counted

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[Finding | str]:
        table, layers = tables["token_kinds"], tables["token_kinds_layers"]
        yield from _resting(table)
        for pattern in (SEP, CLS, FIRST, PERIOD_COMMA):
            rows = layers[layers["kind"] == pattern.key].dropna(subset="value")
            if rows.empty:
                continue
            yield pattern.finding(table)
            yield _highest_layer(pattern.target, rows, pattern.strengths(table)[EXPECTED].mean())
        own = layers[layers["kind"] == "sep_to_sep"].dropna(subset="value")
        if len(own):
            yield _own_separator(own, table[table["kind"] == "sep_to_sep"][EXPECTED].mean())


def _resting(table: pd.DataFrame) -> Iterator[Finding]:
    """How many heads rest, beside those that uniform attention and untrained weights make rest."""
    rows = table[table["kind"] == "resting"].dropna(subset="value")
    if rows.empty:
        return
    resting, uniform = rows[rows["value"] > RESTS], rows[EXPECTED].mean()
    sure = int((rows["low"] > RESTS).sum())
    whose = "its" if len(resting) == 1 else "their"
    share = f"more than {percent(RESTS)} of {whose} attention goes to {resting_places(table)}"
    yield Finding(
        f"{len(resting)} of {counted(len(rows), 'head')} rest{'s' * (len(resting) == 1)}: {share}",
        len(resting),
        baselines={"uniform attention": int((rows[EXPECTED] > RESTS).sum())},
        untrained=int((rows[CONTROL] > RESTS).sum()) if controlled(rows) else None,
        unit="count",
        most=len(rows),
        heads=heads_in(resting.sort_values("value", ascending=False, kind="stable")),
        evidence=(
            *([f"whole 95 % CI above {percent(RESTS)}: {sure}"] if sure < len(resting) else []),
            f"if attention were uniform, {written_share(uniform)} of it would go there",
        ),
    )


def resting_places(table: pd.DataFrame, names: Mapping[Any, str] | None = None) -> str:
    """The tokens of the input that heads may rest on, in words: "[CLS] and [SEP]". names: the model's own, by kind."""
    present = set(table.dropna(subset="value")["kind"])
    return " and ".join((names or {}).get(place.key, place.target) for place in RESTING_PLACES if place.key in present)


def _highest_layer(target: str, rows: pd.DataFrame, uniform: float) -> Finding:
    """The layer that attends most to a kind of token, beside uniform attention, and what the others do."""
    top = rows.iloc[int(rows["value"].argmax())]
    close = rows[(rows["high"] >= top["low"]) & (rows["layer"] != top["layer"])]["layer"]
    ratio = top["value"] / uniform if uniform > 0 else math.nan
    times = f", {ratio:.{0 if ratio >= 10 else 1}f} times what uniform attention would give" if uniform > 0 else ""
    return Finding(
        f"Attention to {target}, mean over the heads of a layer, is highest in layer {top['layer']:.0f}: "
        f"{written_share(top['value'])}{times}",
        top["value"],
        (top["low"], top["high"]),
        {"uniform attention": uniform} if uniform > 0 else {},
        untrained=top[CONTROL] if controlled(rows) else None,
        evidence=(*([f"not clearly less in {name_layers(close)}"] if len(close) else []), *by_layer(rows)),
    )


def _own_separator(rows: pd.DataFrame, uniform: float) -> Finding:
    """In which layers the separator attends mostly to separators."""
    sure = rows[rows["low"] > MOSTLY]["layer"]
    where = f"{len(sure)} of {counted(len(rows), 'layer')}"
    return Finding(
        f"[SEP] itself puts more than half of its attention on [SEP] in {where if len(sure) else 'no layer'}",
        len(sure),
        untrained=int((rows[CONTROL] > MOSTLY).sum()) if controlled(rows) else None,
        unit="count",
        evidence=(
            *([f"whole 95 % CI above half in {name_layers(sure)}"] if len(sure) else []),
            *by_layer(rows),
            *([f"uniform attention {written_share(uniform)}"] if uniform > 0 else []),
        ),
    )


def _ordinary_first(batch: Batch) -> Tensor:
    """Whether the first token of each segment is an ordinary one, neither [CLS] nor [SEP]: [B]."""
    first = batch.kinds[:, 0]
    return (first != TokenKind.CLS) & (first != TokenKind.SEP)


def _rows_of(kind: TokenKind, batch: Batch) -> Tensor:
    return (batch.kinds == kind).sum(1)
