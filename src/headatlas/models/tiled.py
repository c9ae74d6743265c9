"""Attention in tiles: the eager function of the model's own file on one block of query rows after another.

Rows of attention are independent of each other, so blocks give what the whole gives, for every family, but for
rounding. Each block's weights go to a sink and are dropped. Columns that no row of a block sees are left out, and so
are rows of padding, whose output is 0. Plain attention (see `plain.py`) has a faster way: scores go into memory that is
used again, the sink makes weights of them, and queries share their group's keys without a copy. In float32 on the CPU
one sweep makes the weights and takes the sums; elsewhere tensor operations do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from headatlas.models.masks import IntervalMask, Intervals, intervals_of
from headatlas.models.plain import plain_scale
from headatlas.models.tiles import Tile

MOST_NUMBERS = 1_000_000  # weights of a tile: some megabytes, which a processor's cache holds
MOST_ROWS, FEWEST_ROWS = 128, 16
NUMBERS_ON_GPU, ROWS_ON_GPU = 32_000_000, 512  # enough work for a GPU

Path = Literal["fused tiles", "plain tiles", "tiles", "whole maps"]


@dataclass(frozen=True)
class Call:
    """One call of an eager function: queries [B, H, Q, D], keys and values [B, G, K, D], and an additive mask."""

    function: Callable[..., tuple[Tensor, Tensor]]
    module: nn.Module
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    named: Mapping[str, Any]

    def run(self) -> tuple[Tensor, Tensor]:
        """The heads' outputs [B, Q, H, D] and the weights [B, H, Q, K]."""
        return self.function(self.module, self.query, self.key, self.value, self.mask, **self.named)

    def part(self, inputs: slice, rows: slice, columns: slice) -> Call:
        """The call for some inputs, rows and columns; so are biases of rows and columns, such as T5's, cut."""
        shape = (self.query.shape[2], self.key.shape[2])

        def cut(argument: Any) -> Any:
            if isinstance(argument, IntervalMask):
                return argument.intervals.part(inputs, rows, columns, argument.dtype)
            if isinstance(argument, Tensor) and argument.ndim == 4 and argument.shape[2:] == shape:
                return argument[inputs if len(argument) > 1 else slice(None), :, rows, columns]
            return argument

        return replace(
            self,
            query=self.query[inputs, :, rows],
            key=self.key[inputs, :, columns],
            value=self.value[inputs, :, columns],
            mask=cut(self.mask),
            named={name: cut(argument) for name, argument in self.named.items()},
        )


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

    def for_gradients(self) -> LayerSink:
        """What takes the gradients of the loss to these weights, if the pass is differentiated."""


def on_gpu(tensor: Tensor) -> bool:
    """Whether a tensor is on a GPU, or any other device that works best on large pieces."""
    return tensor.device.type != "cpu"


def is_swept(weights: Tensor) -> bool:
    """Whether one sweep makes weights of scores and takes their sums."""
    return not on_gpu(weights) and weights.dtype == torch.float32


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
        weights = scores.mul_(scale).masked_fill_(outside, -torch.inf).softmax(-1)
        scores.copy_(weights.masked_fill_(outside, 0))

    def finish(self, path: Path) -> None:
        """Nothing is left to do."""

    def for_gradients(self) -> LayerSink:
        """Nobody asked for these either."""
        return self


class GradientTiles(DroppedTiles):
    """Drops a layer's weights, and opens a sink for their gradients on the way back."""

    def __init__(
        self, open_layer: Callable[[int, Tensor], LayerSink], lengths: Sequence[int], layer: int, query: Tensor
    ) -> None:
        super().__init__(lengths)
        self._open = partial(open_layer, layer, query.new_empty(*query.shape[:3], 0))  # keeps no memory

    def for_gradients(self) -> LayerSink:
        return self._open()


class TiledAttention:
    """Attends in tiles within one pass of a network, whose layers share masks and memory. rows: most of a tile."""

    def __init__(self, rows: int | None = None) -> None:
        self._rows = rows
        self._masks: list[tuple[Tensor | None, tuple[int, ...], Intervals | None]] = []
        self._memory = torch.empty(0)

    def __call__(self, call: Call, sink: LayerSink) -> Tensor:
        """The heads' outputs [B, Q, H, D], as of the original function. The weights go to the sink."""
        if torch.is_grad_enabled() and call.query.requires_grad:
            tensors = (call.query, call.key, call.value)
            differentiable: Tensor = _DifferentiableTiles.apply(*tensors, self, call, sink)  # type: ignore[no-untyped-call]
            return differentiable
        seen = self._seen(call)
        scale = plain_scale(call.function, call.module, call.query, call.key, call.named)
        if scale is not None and seen is not None and seen.exact and call.key.shape[1] > 0:
            output = self._plain(call, seen, scale, sink)
            sink.finish("fused tiles" if is_swept(call.query) else "plain tiles")
        else:
            output = self._by_original(call, sink)
            sink.finish("tiles")
        return output

    def parts(self, call: Call, lengths: Sequence[int]) -> Iterator[tuple[slice, slice, slice]]:
        """The inputs, rows and columns of each tile of a call that takes all heads at once."""
        heads, tokens = call.query.shape[1:3]
        seen, every = self._seen(call), slice(0, call.key.shape[2])
        for some, rows in cut_rows(lengths, heads, heads, tokens, *self._limits(call.query)):
            yield some, rows, seen.seen_by(some, rows, lengths, every.stop) if seen else every

    def _seen(self, call: Call) -> Intervals | None:
        """What the rows see, found once for all layers that share a mask."""
        shape = (call.query.shape[0], call.query.shape[2], call.key.shape[2])
        for mask, of_shape, intervals in self._masks:
            if mask is call.mask and of_shape == shape:
                return intervals
        intervals = intervals_of(call.mask, *shape)
        self._masks = [*self._masks[-3:], (call.mask, shape, intervals)]
        return intervals

    def _by_original(self, call: Call, sink: LayerSink) -> Tensor:
        """The original function on each block."""
        output: Tensor | None = None
        for some, rows, columns in self.parts(call, sink.lengths):
            part = call.part(some, rows, columns)
            heads, weights = part.run()
            sink.add(Tile(weights, segment=some.start, row=rows.start, column=columns.start, mask=part.mask))
            if output is None:
                output = heads.new_zeros(call.query.shape[0], call.query.shape[2], *heads.shape[2:])
            output[some, rows] = heads
        if output is None:
            raise ValueError("there are no tokens to attend from")
        return output

    def _plain(self, call: Call, seen: Intervals, scale: float, sink: LayerSink) -> Tensor:
        """Plain attention: scores in memory that is used again, the sink's softmax, and the product with the values."""
        query, key, value = call.query, call.key, call.value
        inputs, heads, tokens = query.shape[:3]
        groups, columns = key.shape[1:3]
        shared = heads // groups  # queries that share a key
        output = query.new_empty(inputs, tokens, heads, value.shape[-1])
        if min(sink.lengths, default=0) < tokens:
            output.zero_()  # padding, which no tile has
        most_rows, most_numbers = self._limits(query)
        for some, rows in cut_rows(sink.lengths, heads, shared, tokens, most_rows, most_numbers):
            reach = seen.seen_by(some, rows, sink.lengths, columns)
            size, length, width = some.stop - some.start, rows.stop - rows.start, reach.stop - reach.start
            start, end = (part[some, rows].to(query.device) for part in (seen.start, seen.end))
            for of_group in cut_evenly(groups, most_numbers // (size * shared * length * width)):
                of_heads = slice(of_group.start * shared, of_group.stop * shared)
                number = of_heads.stop - of_heads.start
                scores = self._room(query, size * number * length * width).view(size, number, length, width)
                by_key = (size, of_group.stop - of_group.start, shared * length)
                asked, keys = query[some, of_heads, rows].reshape(*by_key, -1), key[some, of_group, reach]
                _multiply(asked, keys.transpose(2, 3), out=scores.view(*by_key, width))
                tile = Tile(scores, segment=some.start, head=of_heads.start, row=rows.start, column=reach.start)
                sink.softmax(tile, start, end, scale)
                answers = query.new_empty(*by_key, value.shape[-1])
                _multiply(scores.view(*by_key, width), value[some, of_group, reach], out=answers)
                output[some, rows, of_heads] = answers.view(size, number, length, -1).transpose(1, 2)
        return output

    def _limits(self, query: Tensor) -> tuple[int, int]:
        """The most rows and the most weights of a tile."""
        rows, numbers = (ROWS_ON_GPU, NUMBERS_ON_GPU) if on_gpu(query) else (MOST_ROWS, MOST_NUMBERS)
        return self._rows or rows, numbers

    def _room(self, like: Tensor, numbers: int) -> Tensor:
        """Memory for some scores, the same for all tiles of layers on one device."""
        if len(self._memory) < numbers or (self._memory.device, self._memory.dtype) != (like.device, like.dtype):
            self._memory = like.new_empty(numbers)
        return self._memory[:numbers]


def _multiply(first: Tensor, second: Tensor, out: Tensor) -> None:
    """Products of matrices [S, G, ., .]; on the CPU one input after the other, for which nothing is copied."""
    if on_gpu(first):
        torch.matmul(first, second, out=out)
        return
    for one, other, product in zip(first, second, out, strict=True):
        torch.bmm(one, other, out=product)


class _DifferentiableTiles(torch.autograd.Function):
    """Attention in tiles whose weights are not kept: on the way back each tile is computed once more."""

    @staticmethod
    def forward(
        context: Any, query: Tensor, key: Tensor, value: Tensor, attend: TiledAttention, call: Call, sink: LayerSink
    ) -> Tensor:
        context.save_for_backward(query, key, value)
        nothing = query.new_empty(0)  # what is saved above may be dropped, and computed again on the way back
        context.kept = attend, replace(call, query=nothing, key=nothing, value=nothing), sink
        return attend(call, sink)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        attend, call, sink = context.kept
        query, key, value = context.saved_tensors
        call, sink = replace(call, query=query, key=key, value=value), sink.for_gradients()
        of_query, of_key, of_value = (torch.zeros_like(tensor) for tensor in (query, key, value))
        for some, rows, columns in attend.parts(call, sink.lengths):
            part = call.part(some, rows, columns)
            leaves = [tensor.detach().requires_grad_() for tensor in (part.query, part.key, part.value)]
            with torch.enable_grad():
                output, weights = replace(part, query=leaves[0], key=leaves[1], value=leaves[2]).run()
            *of_leaves, of_weights = torch.autograd.grad(output, [*leaves, weights], gradient[some, rows])
            sink.add(Tile(of_weights, segment=some.start, row=rows.start, column=columns.start, mask=part.mask))
            of_query[some, :, rows] = of_leaves[0]
            of_key[some, :, columns] += of_leaves[1]
            of_value[some, :, columns] += of_leaves[2]
        sink.finish("tiles")
        return of_query, of_key, of_value, None, None, None


def cut_rows(
    lengths: Sequence[int], heads: int, heads_at_once: int, tokens: int, most_rows: int, most_numbers: int
) -> Iterator[tuple[slice, slice]]:
    """The inputs and the rows of each tile: many short inputs, or a part of one, without padding at the end."""
    heads, heads_at_once = max(heads, 1), max(heads_at_once, 1)  # a pruned layer may have none
    if tokens <= most_rows:
        for some in cut_evenly(len(lengths), most_numbers // (heads * tokens**2)):
            yield some, slice(0, max(lengths[some]))
        return
    rows = min(most_rows, max(FEWEST_ROWS, most_numbers // (heads_at_once * tokens)))
    for place, length in enumerate(lengths):
        for some_rows in cut_evenly(length, rows):
            yield slice(place, place + 1), some_rows


def cut_evenly(number: int, most: int) -> Iterator[slice]:
    """Parts of about the same size, at most `most` but at least 1."""
    parts = -(-number // max(most, 1))
    for part in range(parts):
        yield slice(part * number // parts, (part + 1) * number // parts)
