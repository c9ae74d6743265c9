"""How much attention goes to ``[CLS]``, ``[SEP]``, periods and commas, and does ``[SEP]`` attend to itself?
(sections 3.1 and 3.2, figure 2)

The kinds `cls`, `sep`, `period_comma` and `other` share out a row's attention; `sep_to_sep` and `other_to_sep` are
the attention to ``[SEP]`` of the ``[SEP]`` rows and of all other rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import TokenKind
from headatlas.statistics.surface import Sum
from headatlas.studies.findings import Finding
from headatlas.studies.labels import MOSTLY, Pattern, Tables
from headatlas.studies.study import LayerMap, SegmentMeans
from headatlas.tables import ATTENDS_TO, COUNT, ONE_HEAD, VALUE_INTERVAL, Key, Table, Value, control
from headatlas.wording import percent

TO_KIND = {"cls": "{cls}", "sep": "{sep}", "period_comma": "periods and commas", "other": "other tokens"}
KIND = Key(
    "kind",
    "cls, sep, period_comma, other: to such tokens from all rows (together 1, less what a learned sink takes); "
    "sep_to_sep: from [SEP] rows to [SEP]; other_to_sep: from all other rows to [SEP]",
    labels=TO_KIND | {"sep_to_sep": "{sep}, from {sep}", "other_to_sep": "{sep}, from other tokens"},
    minor=("sep_to_sep", "other_to_sep"),
)
TOKEN_KINDS = Table(
    "token_kinds",
    "How much attention goes to [CLS], [SEP], periods and commas, and other tokens? Does [SEP] attend to itself?",
    (*ONE_HEAD, KIND, Value("value", "mean attention, 0 to 1", "share"), *VALUE_INTERVAL, COUNT, control("share")),
    section="3.2, figure 2",
    label="attention to {kind}",
    short="{kind}",
    card=ATTENDS_TO,
    panels=("cls", "sep", "period_comma"),
    figure=("figure2_token_kinds", "headatlas.views.figures.layers:token_kinds_figure"),
)
KIND_NAMES = {"cls": "[CLS]", "sep": "[SEP]", "period_comma": "periods and commas", "other": "other"}
DEVOTED = 0.6  # of a head's attention, for a label after a kind of token
CLS, SEP, PERIOD_COMMA = (
    Pattern(KIND_NAMES[kind], KIND_NAMES[kind], "token_kinds", "kind", kind, DEVOTED)
    for kind in ("cls", "sep", "period_comma")
)
KINDS = tuple(KIND.labels)


def attention_to_kinds(sums: Tensor, lengths: Tensor, sep_rows: Tensor) -> Tensor:
    """Mean attention to each kind. sums: [B, H, S]; lengths, sep_rows: [B] -> [B, H, 6]."""
    to_cls, to_sep, to_mark = (sums[..., name] for name in (Sum.TO_CLS, Sum.TO_SEP, Sum.TO_PERIOD_COMMA))
    other = sums[..., Sum.TOTAL] - to_cls - to_sep - to_mark
    from_sep = sums[..., Sum.SEP_TO_SEP]
    rows, sep = lengths[:, None], sep_rows[:, None]
    return torch.stack(
        [
            to_cls / rows,
            to_sep / rows,
            to_mark / rows,
            other / rows,
            from_sep / sep.clamp_min(1),
            (to_sep - from_sep) / (rows - sep).clamp_min(1),
        ],
        -1,
    )


class TokenKinds(SegmentMeans):
    """Mean attention to each kind of token, for every head."""

    name = "token_kinds"
    tables = (TOKEN_KINDS,)
    patterns = (CLS, SEP, PERIOD_COMMA)

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        batch = layer_map.batch
        return attention_to_kinds(layer_map.surface, batch.lengths, _rows_of(TokenKind.SEP, batch))

    def counted(self, batch: Batch) -> Tensor:
        """What is said of ``[CLS]`` and ``[SEP]`` needs one in the segment: without it there is no value, not 0."""
        counted = super().counted(batch)
        sep_rows = _rows_of(TokenKind.SEP, batch)
        counted[:, KINDS.index("cls")] = _rows_of(TokenKind.CLS, batch) > 0
        counted[:, [KINDS.index("sep"), KINDS.index("sep_to_sep")]] = (sep_rows > 0)[:, None]
        counted[:, KINDS.index("other_to_sep")] = (sep_rows > 0) & (batch.lengths > sep_rows)
        return counted

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[Finding | str]:
        table = tables["token_kinds"]
        for pattern in (SEP, CLS, PERIOD_COMMA):
            by_layer = pattern.strengths(table).groupby("layer")["strength"].mean()
            if by_layer.isna().all():
                yield f"The input has no {pattern.target}."
                continue
            finding = pattern.finding(table)
            highest = f"mean over heads highest in layer {by_layer.idxmax()}: {percent(by_layer.max())}"
            yield replace(finding, evidence=(*finding.evidence, highest))
        wide = table.pivot(index=["layer", "head"], columns="kind", values="value")
        devoted = wide[wide["other_to_sep"] > MOSTLY]
        if len(devoted):
            share = percent(devoted["sep_to_sep"].mean())
            yield f"In heads that attend mostly to [SEP], [SEP] itself puts {share} of its attention on [SEP]."


def _rows_of(kind: TokenKind, batch: Batch) -> Tensor:
    return (batch.kinds == kind).sum(1)
