"""Attention in tiles: the eager function of the model's own file on one block of query rows after another.

Rows of attention are independent of each other, so blocks give what the whole gives, for every family, but for
rounding. Each block's weights go to a sink and are dropped. Columns that no row of a block sees are left out, and so
are rows of padding, whose output is 0. Where the eager function is plain attention (see `plain.py`), float32 on the CPU
has a faster way: scores go into memory that is used again, the sink makes weights of them in one sweep that also takes
the sums, and queries share their group's keys without a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from headatlas.models.masks import IntervalMask, Intervals, intervals_of
from headatlas.models.plain import plain_scale
from headatlas.models.tiles import Tile

MOST_NUMBERS = 2_000_000  # weights of a tile: some megabytes, which a processor's cache holds
MOST_ROWS, FEWEST_ROWS = 128, 16

Path = Literal["fused tiles", "tiles", "whole maps"]
Attend = Callable[..., tuple[Tensor, Tensor]]


class LayerSink(Protocol):
    """Takes one layer's tiles.

    Attributes:
        lengths: How many tokens of each input are real.
    """

    lengths: Sequence[int]

    def add(self, tile: Tile) -> None:
        """Take a tile. Its weights may be overwritten afterwards."""

    def softmax(self, tile: Tile, start: Tensor, end: Tensor, scale: float) -> None:
        """Take a tile of scores, and replace them by weights: their softmax, times `scale`, within what each row sees.

        start, end: the columns of the map that each row sees, [S, R] int64. All others become 0.
        """

    def finish(self, path: Path) -> None:
        """The layer is complete, and was computed in this way."""


class DroppedTiles:
    """Drops the tiles of a layer that nobody asked for; and a sink to derive from."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = lengths

    def add(self, tile: Tile) -> None:
        """Drop it."""

    def softmax(self, tile: Tile, start: Tensor, end: Tensor, scale: float) -> None:
        """Make weights with tensor operations."""
        scores = tile.weights
        places = torch.arange(tile.columns.start, tile.columns.stop, device=scores.device)
        outside = ((places < start[..., None]) | (places >= end[..., None]))[:, None]  # [S, 1, R, C]
        weights = (scores * scale).masked_fill(outside, -torch.inf).softmax(-1)
        scores.copy_(weights.masked_fill(outside, 0))

    def finish(self, path: Path) -> None:
        """Nothing is left to do."""


class TiledAttention:
    """Attends in tiles within one pass of a network, whose layers share masks and memory. rows: most of a tile."""

    def __init__(self, rows: int | None = None) -> None:
        self._rows = rows or MOST_ROWS
        self._masks: list[tuple[Tensor | None, tuple[int, ...], Intervals | None]] = []
        self._memory = torch.empty(0)

    def __call__(
        self,
        original: Attend,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        named: Mapping[str, Any],
        sink: LayerSink,
    ) -> Tensor:
        """The heads' outputs [B, Q, H, D], as of the original function. The weights go to the sink."""
        seen = self._intervals(mask, (query.shape[0], query.shape[2], key.shape[2]))
        scale = plain_scale(original, module, query, key, named)
        fast = query.device.type == "cpu" and query.dtype == torch.float32 and not query.requires_grad
        if fast and scale is not None and seen is not None and seen.exact:
            output = self._fused(query, key, value, seen, scale, sink)
            sink.finish("fused tiles")
        else:
            output = self._by_original(original, module, query, key, value, mask, seen, named, sink)
            sink.finish("tiles")
        return output

    def _intervals(self, mask: Tensor | None, shape: tuple[int, ...]) -> Intervals | None:
        """What the rows see, found once for all layers that share a mask."""
        for known, of_shape, intervals in self._masks:
            if known is mask and of_shape == shape:
                return intervals
        intervals = intervals_of(mask, *shape)
        self._masks = [*self._masks[-3:], (mask, shape, intervals)]
        return intervals

    def _fused(
        self, query: Tensor, key: Tensor, value: Tensor, seen: Intervals, scale: float, sink: LayerSink
    ) -> Tensor:
        inputs, heads, tokens = query.shape[:3]
        groups, columns = key.shape[1:3]
        shared = heads // groups  # queries that share a key
        output = query.new_zeros(inputs, tokens, heads, value.shape[-1])
        for some, rows in cut_rows(sink.lengths, heads, shared, tokens, self._rows):
            reach = seen.seen_by(some, rows, sink.lengths, columns)
            size, length, width = some.stop - some.start, rows.stop - rows.start, reach.stop - reach.start
            start, end = (part[some, rows] for part in (seen.start, seen.end))
            for of_group in cut_evenly(groups, MOST_NUMBERS // (size * shared * length * width)):
                of_heads = slice(of_group.start * shared, of_group.stop * shared)
                number = of_heads.stop - of_heads.start
                scores = self._room(size * number * length * width).view(size, number, length, width)
                of_keys = (of_group.stop - of_group.start, shared * length)
                for place in range(size):
                    asked = query[some.start + place, of_heads, rows].reshape(*of_keys, -1)
                    keys = key[some.start + place, of_group, reach]
                    torch.bmm(asked, keys.transpose(1, 2), out=scores[place].view(*of_keys, width))
                tile = Tile(scores, segment=some.start, head=of_heads.start, row=rows.start, column=reach.start)
                sink.softmax(tile, start, end, scale)
                for place in range(size):
                    values = value[some.start + place, of_group, reach]
                    part = torch.bmm(scores[place].view(*of_keys, width), values).view(number, length, -1)
                    output[some.start + place, rows, of_heads] = part.transpose(0, 1)
        return output

    def _by_original(
        self,
        original: Attend,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        seen: Intervals | None,
        named: Mapping[str, Any],
        sink: LayerSink,
    ) -> Tensor:
        """The original function on each block."""
        inputs, heads, tokens = query.shape[:3]
        columns = key.shape[2]
        output: Tensor | None = None
        for some, rows in cut_rows(sink.lengths, heads, heads, tokens, self._rows):
            reach = seen.seen_by(some, rows, sink.lengths, columns) if seen else slice(0, columns)
            rows_of_mask = mask_part(mask, some, rows, reach)
            part, weights = original(
                module,
                query[some, :, rows],
                key[some, :, reach],
                value[some, :, reach],
                rows_of_mask,
                **{name: _part_of(argument, (tokens, columns), some, rows, reach) for name, argument in named.items()},
            )
            sink.add(Tile(weights, segment=some.start, row=rows.start, column=reach.start, mask=rows_of_mask))
            if output is None:
                output = part.new_zeros(inputs, tokens, *part.shape[2:])
            output[some, rows] = part
        if output is None:
            raise ValueError("there are no tokens to attend from")
        return output

    def _room(self, numbers: int) -> Tensor:
        """Memory for some scores, the same for all tiles."""
        if len(self._memory) < numbers:
            self._memory = torch.empty(numbers)
        return self._memory[:numbers]


def mask_part(mask: Tensor | None, inputs: slice, rows: slice, columns: slice) -> Tensor | None:
    """Some rows and columns of a mask, [S or 1, 1, R, C]."""
    if isinstance(mask, IntervalMask):
        return mask.intervals.part(inputs, rows, columns, mask.dtype)
    if mask is None:
        return None
    return mask[inputs if len(mask) > 1 else slice(None), :, rows, columns]


def _part_of(argument: Any, shape: tuple[int, int], inputs: slice, rows: slice, columns: slice) -> Any:
    """The part of an argument that belongs to a tile, if it is a bias of rows and columns such as T5's."""
    if isinstance(argument, Tensor) and argument.ndim == 4 and argument.shape[2:] == shape:
        return mask_part(argument, inputs, rows, columns)
    return argument


def cut_rows(
    lengths: Sequence[int], heads: int, heads_at_once: int, tokens: int, most_rows: int
) -> Iterator[tuple[slice, slice]]:
    """The inputs and the rows of each tile: many short inputs, or a part of one, without padding at the end."""
    if tokens <= most_rows:
        for some in cut_evenly(len(lengths), MOST_NUMBERS // (heads * tokens**2)):
            yield some, slice(0, max(lengths[some]))
        return
    rows = min(most_rows, max(FEWEST_ROWS, MOST_NUMBERS // (heads_at_once * tokens)))
    for place, length in enumerate(lengths):
        for some_rows in cut_evenly(length, rows):
            yield slice(place, place + 1), some_rows


def cut_evenly(number: int, most: int) -> Iterator[slice]:
    """Parts of about the same size, at most `most` but at least 1."""
    parts = -(-number // max(most, 1))
    for part in range(parts):
        yield slice(part * number // parts, (part + 1) * number // parts)
