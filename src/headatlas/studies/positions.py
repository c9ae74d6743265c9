"""How much does each head attend to the previous, the current and the next token? (section 3.1)

A row whose neighbour would lie outside the segment counts with 0: the paper's mean is over all tokens.
"""

from __future__ import annotations

from torch import Tensor

from headatlas.statistics.surface import Sum
from headatlas.studies.labels import Pattern
from headatlas.studies.reductions import Reduction, Surface
from headatlas.studies.segment_means import SegmentMeans
from headatlas.studies.study import LayerMap
from headatlas.tables import ATTENDS_TO, COUNT, ONE_HEAD, VALUE_INTERVAL, Key, Table, Value, control, expected

OFFSET = Key("offset", "-1 previous, 0 current, 1 next token", "int64", {-1: "previous", 0: "current", 1: "next"})
ATTENTION = Value("value", "mean attention, 0 to 1; a token without such a neighbour counts with 0", "share")
POSITIONS = Table(
    "positions",
    "How much attention goes to the previous, current and next token?",
    (*ONE_HEAD, OFFSET, ATTENTION, *VALUE_INTERVAL, COUNT, expected("share"), control("share")),
    section="3.1",
    label="attention to the {offset} token",
    short="{offset} token",
    card=ATTENDS_TO,
    panels=(-1, 1),
    figure=("figure2_positions", "headatlas.views.figures.layers:positions_figure"),
)
PREVIOUS = Pattern("previous token", "the previous token", "positions", "offset", -1)
NEXT = Pattern("next token", "the next token", "positions", "offset", 1)
OFFSETS = {-1: Sum.PREVIOUS, 0: Sum.CURRENT, 1: Sum.NEXT}


def attention_to_neighbours(sums: Tensor, lengths: Tensor) -> Tensor:
    """Mean attention of a segment's tokens to those at each offset. sums: [B, H, S]; lengths: [B] -> [B, H, 3]."""
    return sums[..., list(OFFSETS.values())] / lengths[:, None, None]


class Positions(SegmentMeans):
    """Mean attention to the token at each offset, for every head."""

    name = "positions"
    tables = (POSITIONS,)
    patterns = (PREVIOUS, NEXT)

    def reductions(self) -> list[Reduction]:
        return [Surface()]

    def segment_means(self, layer_map: LayerMap) -> Tensor:
        return attention_to_neighbours(layer_map.surface, layer_map.batch.lengths)
