"""Masks as intervals: for each row, the first column that it sees and the end, instead of rows x columns numbers.

transformers makes a mask from a recipe: which function decides, which tokens are padding. While attention is observed
in tiles, the recipe is evaluated a few rows at a time. If every row sees one interval of columns, as in causal,
bidirectional, sliding and chunked attention with padding at one end, an `IntervalMask` takes the mask's place. Anything
but the tiles that touches it gets the whole mask, so no model file is wrong, or breaks. Other masks stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils._pytree import tree_map

EAGER = "eager"
ROWS_AT_ONCE = 64
_METADATA = {"__get__", "dim", "size", "is_floating_point", "is_complex", "numel", "__len__"}

_within: ContextVar[bool] = ContextVar("headatlas_interval_masks", default=False)
_replacing = Lock()


@dataclass(frozen=True)
class Intervals:
    """Which columns each row of a mask sees, from `start` to before `end`, both [B, Q] int64; none if they are equal.

    exact: whether a row sees all of these columns, without a bias. If not, it sees none outside of them.
    """

    start: Tensor
    end: Tensor
    exact: bool = True

    def part(self, inputs: slice, rows: slice, columns: slice, dtype: torch.dtype) -> Tensor:
        """A part of the additive mask: 0 where a row sees a column, the least number elsewhere. [S, 1, R, C]"""
        start, end = (part[inputs, None, rows, None] for part in (self.start, self.end))
        places = torch.arange(columns.start, columns.stop, device=start.device)
        seen = (places >= start) & (places < end)
        zero = torch.zeros((), dtype=dtype, device=start.device)
        return torch.where(seen, zero, torch.finfo(dtype).min)

    @cached_property
    def in_arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Start and end on the CPU."""
        return self.start.cpu().numpy(), self.end.cpu().numpy()

    def seen_by(self, inputs: slice, rows: slice, lengths: Sequence[int], columns: int) -> slice:
        """The columns that the real rows of a tile see; all of them if one of these rows sees nothing.

        A row that sees nothing attends evenly to all columns, since its scores drown in the mask's least number.
        """
        start, end = (part[inputs, rows] for part in self.in_arrays)
        real = np.arange(rows.start, rows.stop) < np.array(lengths[inputs])[:, None]
        if (start == end)[real].any() or not real.any():
            return slice(0, columns)
        return slice(int(start[real].min()), int(end[real].max()))


class IntervalMask(Tensor):
    """An additive mask [B, 1, Q, K] that holds intervals, and becomes the whole mask when an operation touches it."""

    intervals: Intervals
    _whole: Tensor | None

    @staticmethod
    def __new__(cls, intervals: Intervals, columns: int, dtype: torch.dtype) -> IntervalMask:
        batch, rows = intervals.start.shape
        shape, device = (batch, 1, rows, columns), intervals.start.device
        mask: IntervalMask = Tensor._make_wrapper_subclass(cls, shape, dtype=dtype, device=device)
        mask.intervals, mask._whole = intervals, None
        return mask

    def whole(self) -> Tensor:
        """The mask as an ordinary tensor."""
        if self._whole is None:
            every = slice(None)
            self._whole = self.intervals.part(every, every, slice(0, self.shape[3]), self.dtype)
        return self._whole

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in _METADATA:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        return func(*_made_whole(args), **_made_whole(kwargs or {}))

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*_made_whole(args), **_made_whole(kwargs or {}))


def _made_whole(arguments: Any) -> Any:
    return tree_map(lambda value: value.whole() if isinstance(value, IntervalMask) else value, arguments)


def intervals_of(mask: Tensor | None, inputs: int, rows: int, columns: int) -> Intervals | None:
    """The intervals of the additive mask of some attention, or None if it is not one of rows and columns.

    No mask lets every row see every column.
    """
    if mask is None:
        start = torch.zeros(inputs, rows, dtype=torch.int64)
        return Intervals(start, start + columns)
    if isinstance(mask, IntervalMask):
        return mask.intervals
    if mask.ndim != 4 or mask.shape[2:] != (rows, columns) or not mask.is_floating_point():
        return None
    parts, least = [], torch.finfo(mask.dtype).min / 2
    for first in range(0, rows, ROWS_AT_ONCE):
        block = mask[:, :, first : first + ROWS_AT_ONCE]
        admitted = block > least
        found = _one_interval(admitted.any(1))
        parts.append(replace(found, exact=found.exact and bool((admitted == (block == 0)).all())))
    joined = _joined(parts)
    return replace(joined, start=joined.start.expand(inputs, -1), end=joined.end.expand(inputs, -1))


@contextmanager
def interval_masks() -> Iterator[None]:
    """Within this context the masks that transformers makes for eager attention hold intervals where they can."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS  # slow: it imports torch's compiler

    mapping = ALL_MASK_ATTENTION_FUNCTIONS
    with _replacing:
        replacement = mapping[EAGER]
        if not isinstance(replacement, _MaskFunction):
            replacement = mapping[EAGER] = _MaskFunction(mapping[EAGER])
        replacement.contexts += 1
    token = _within.set(True)
    try:
        yield
    finally:
        _within.reset(token)
        with _replacing:
            replacement.contexts -= 1
            if replacement.contexts == 0 and mapping[EAGER] is replacement:
                del mapping[EAGER]


class _MaskFunction:
    """Makes masks as the original does, and within the context those with intervals."""

    def __init__(self, original: Callable[..., Tensor | None]) -> None:
        self.original = original
        self.contexts = 0  # that use it, over all threads

    def __call__(self, *arguments: Any, **recipe: Any) -> Tensor | None:
        if _within.get() and not arguments and {"q_length", "q_offset", "kv_length"} <= recipe.keys():
            return self._in_blocks(recipe)
        return self.original(*arguments, **recipe)

    def _in_blocks(self, recipe: dict[str, Any]) -> Tensor | None:
        """Evaluate a recipe some rows at a time, and as a whole if it has no intervals."""
        rows, parts = recipe["q_length"], []
        for first in range(0, rows, ROWS_AT_ONCE):
            some = {"q_length": min(ROWS_AT_ONCE, rows - first), "q_offset": recipe["q_offset"] + first}
            block = self.original(**recipe | some)
            if block is None:  # nothing is masked
                return None
            part = _one_interval(block[:, 0] == 0)
            if not part.exact:
                return self.original(**recipe)
            parts.append(part)
            dtype = block.dtype
        return IntervalMask(_joined(parts), recipe["kv_length"], dtype) if parts else self.original(**recipe)


def _one_interval(seen: Tensor) -> Intervals:
    """From the first to the last column that each row [B, R, K] sees; exact if there are no gaps."""
    count = seen.sum(-1)
    start = seen.to(torch.uint8).argmax(-1)
    last = seen.shape[-1] - seen.flip(-1).to(torch.uint8).argmax(-1)
    end = torch.where(count > 0, last, start)
    return Intervals(start, end, bool((end - start == count).all()))


def _joined(parts: list[Intervals]) -> Intervals:
    start, end = (torch.cat(ends, 1) for ends in zip(*((part.start, part.end) for part in parts), strict=True))
    return Intervals(start, end, all(part.exact for part in parts))
