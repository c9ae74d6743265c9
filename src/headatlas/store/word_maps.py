"""Maps as they come from a model, one example at a time in order: for the writer, and for work that needs no disk.

Examples are taken in windows of bounded size and batched by length within each, so what an example's numbers are
depends on its window alone: a run that was stopped between windows resumes to the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.choices import Level
from headatlas.encoding.batches import Batch, iterate_batches, plan_batches
from headatlas.encoding.kinds import TokenKind
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import ParsedSegment, WordSegment
from headatlas.errors import ModelError, SettingError
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape, Stack
from headatlas.statistics.words import PADDING, segments_of, word_attention
from headatlas.store.checking import is_finite
from headatlas.store.examples import SPECIAL_UNITS, Tensors, WordMaps, word_maps

STORED_TYPES = {"float16": torch.float16, "float32": torch.float32}
WINDOW_BYTES = 256 << 20


def observe_words(
    model: Model,
    segments: Sequence[ParsedSegment],
    relations: Sequence[str],
    *,
    batch_tokens: int = 4096,
    stack: Stack | None = None,
    states: bool = False,
    dtype: str = "float32",
    advance: Callable[[int], None] = lambda _tokens: None,
) -> Iterator[WordMaps]:
    """The word maps of parsed sentences in their order, straight from the model. relations: the sample's.

    `advance` gets the number of tokens of each finished batch.
    """
    observed = observe_maps(
        model, segments, "words", batch_tokens=batch_tokens, stack=stack, states=states, dtype=dtype, advance=advance
    )
    for segment, tensors in zip(segments, observed, strict=True):
        names = tuple(relations[number] for number in segment.relations)
        if tensors.maps is not None:
            yield word_maps(
                tensors.maps, tensors.states, segment.id, segment.document, segment.text, segment.heads, names
            )


def observe_maps(
    model: Model,
    segments: Sequence[Segment],
    level: Level,
    *,
    batch_tokens: int,
    stack: Stack | None = None,
    maps: bool = True,
    states: bool = False,
    dtype: str = "float16",
    advance: Callable[[int], None] = lambda _tokens: None,
) -> Iterator[Tensors]:
    """The numbers of each segment in their order: maps between words or tokens, hidden states, as asked for."""
    chosen = stack or model.default_stack
    shape, width = model.shapes[chosen], model.width if states else 0
    sizes = [tensor_bytes(shape, level, units(segment, level), width, dtype, maps) for segment in segments]
    for window in windows(sizes, WINDOW_BYTES):
        chunk = [segments[place] for place in window]
        plan = plan_batches(chunk, batch_tokens)
        tensors: dict[int, Tensors] = {}
        for places, batch in zip(plan, iterate_batches(chunk, plan, model.kinds, model.pad_id), strict=True):
            gather = _Gather(batch.to(model.device), level, shape, STORED_TYPES[dtype], maps)
            model.observe(gather.batch, gather.keep, chosen, gather.keep_states if states else None)
            tensors |= zip(places, gather.tensors(), strict=True)
            advance(batch.tokens)
        for place in range(len(chunk)):
            yield tensors.pop(place)


def units(segment: Segment, level: Level) -> int:
    """Rows of a segment's maps: its tokens, or its words and two special units."""
    if level == "tokens":
        return len(segment)
    if not isinstance(segment, WordSegment):
        raise SettingError("Maps between words need a treebank. Text gives maps between tokens (--level tokens).")
    return segment.size + SPECIAL_UNITS


def tensor_bytes(shape: HeadShape, level: Level, rows: int, width: int, dtype: str, maps: bool = True) -> int:
    """The bytes of an example with maps of `rows` rows. width: of its hidden states, 0 if they are not kept."""
    with_states = rows - SPECIAL_UNITS if level == "words" else rows
    numbers = maps * shape.total * rows * rows + (shape.layers + 1) * with_states * width
    return numbers * STORED_TYPES[dtype].itemsize


def windows(sizes: Iterable[int], budget: int) -> Iterator[range]:
    """Runs of consecutive places with sizes that stay within the budget; a larger place makes a run of its own."""
    start = total = place = 0
    for place, size in enumerate(sizes):
        if place > start and total + size > budget:
            yield range(start, place)
            start, total = place, 0
        total += size
    if total:
        yield range(start, place + 1)


@dataclass(frozen=True)
class Units:
    """Which row of the maps each token belongs to: words, then [CLS], then [SEP]; PADDING where to none."""

    index: Tensor  # [B, T] int64
    words: int  # of the longest segment
    size: int  # of the maps


def unit_index(batch: Batch) -> Units:
    """The units of a batch of segments with words, on the batch's device."""
    words = max(segment.size for segment in segments_of(batch, WordSegment))
    index = np.full(batch.mask.shape, PADDING, dtype=np.int64)
    kinds = batch.kinds.cpu().numpy()
    for row, segment in enumerate(batch.segments):
        size = len(segment)
        special = segment.words == SPECIAL
        index[row, :size] = np.where(special, PADDING, segment.words)
        index[row, :size][special & (kinds[row, :size] == TokenKind.CLS)] = words
        index[row, :size][special & (kinds[row, :size] == TokenKind.SEP)] = words + 1
    return Units(torch.from_numpy(index).to(batch.mask.device), words, words + SPECIAL_UNITS)


class _Gather:
    """Collects the numbers of one batch while the model runs."""

    def __init__(self, batch: Batch, level: Level, shape: HeadShape, dtype: torch.dtype, maps: bool) -> None:
        self.batch, self._dtype = batch, dtype
        self._units = unit_index(batch) if level == "words" else None
        self._first = np.cumsum([0, *shape.heads])
        self._sizes = [units(segment, level) for segment in batch.segments]
        stored_as = torch.empty(0, dtype=dtype).numpy().dtype
        self._maps = [np.empty((shape.total, size, size), dtype=stored_as) for size in self._sizes if maps]
        self._states: list[NDArray[np.floating] | None] = [None] * len(self._sizes)

    def keep(self, layer: int, weights: Tensor, _mask: Tensor | None) -> None:
        """Take one layer's maps, where they are kept. weights: [B, H, T, T]."""
        if not self._maps:
            return
        unit = self._units
        if unit is not None:
            weights = word_attention(weights, unit.index, unit.size)
        numbers = weights.to("cpu", self._dtype).numpy()
        first, last = self._first[layer], self._first[layer + 1]
        for maps, given in zip(self._maps, numbers, strict=True):
            here = maps[first:last]
            if unit is None:
                here[:] = given[:, : here.shape[1], : here.shape[2]]
                continue
            size = here.shape[1] - SPECIAL_UNITS
            for to, of in ((slice(None, size), slice(None, size)), (slice(size, None), slice(unit.words, None))):
                here[:, to, :size] = given[:, of, :size]
                here[:, to, size:] = given[:, of, unit.words :]

    def keep_states(self, states: Sequence[Tensor]) -> None:
        """Take the hidden states: of every token, or the mean over each word's tokens. Each [B, T, D]."""
        unit = self._units
        if unit is None:
            layers = [state.to("cpu", self._dtype) for state in states]
        else:
            member = (unit.index[..., None] == torch.arange(unit.words, device=unit.index.device)).float()  # [B, T, W]
            share = (member / member.sum(1, keepdim=True).clamp_min(1)).transpose(1, 2)
            layers = [(share.to(state.device) @ state.float()).to("cpu", self._dtype) for state in states]
        together = torch.stack(layers, 1).numpy()  # [B, L + 1, T or W, D]
        for row, size in enumerate(self._sizes):
            self._states[row] = together[row, :, : size - (SPECIAL_UNITS if unit else 0)].copy()

    def tensors(self) -> Iterator[Tensors]:
        """Each segment's numbers; raises where they are not finite."""
        all_maps: Sequence[NDArray[np.floating] | None] = self._maps or [None] * len(self._states)
        for segment, maps, states in zip(self.batch.segments, all_maps, self._states, strict=True):
            for what, numbers in (("attention", maps), ("hidden states", states)):
                if numbers is not None and not is_finite(numbers):
                    raise ModelError(
                        f"The {what} of example {segment.id} are not finite, or too large for the type they are kept "
                        "in. Try --dtype float32 for the model, and --dtype-stored float32 for the store."
                    )
            yield Tensors(maps, states)
