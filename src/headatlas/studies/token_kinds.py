"""How much attention goes to ``[CLS]``, ``[SEP]``, periods and commas, and does ``[SEP]`` attend to itself?
(sections 3.1 and 3.2, figure 2)

The kinds `cls`, `sep`, `period_comma` and `other` share out a row's attention; `sep_to_sep` and `other_to_sep` are
the attention to ``[SEP]`` of the ``[SEP]`` rows and of all other rows.
"""

from __future__ import annotations

import torch
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.encoding.kinds import TokenKind
from headatlas.statistics.surface import Sum
from headatlas.studies.study import LayerMap, SegmentMeans

KINDS = ("cls", "sep", "period_comma", "other", "sep_to_sep", "other_to_sep")


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
    columns = KINDS
    column_name = "kind"

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


def _rows_of(kind: TokenKind, batch: Batch) -> Tensor:
    return (batch.kinds == kind).sum(1)
