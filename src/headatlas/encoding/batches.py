"""Batches: segments of similar length, padded on the right, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from headatlas.encoding.kinds import KindTable, TokenKind
from headatlas.encoding.segments import Segment

Made = TypeVar("Made")


@dataclass(frozen=True)
class Batch:
    """Padded segments: everything a study needs to know about the tokens of the maps it sees.

    Attributes:
        segments: The B inputs, as their kind of corpus made them.
        input_ids: Token ids, [B, T] int64.
        mask: Which tokens are real and not padding, [B, T] bool.
        type_ids: Token types, [B, T] int64.
        kinds: What kind of token each is, [B, T] uint8: a TokenKind; OTHER on padding.
        lengths: The number of real tokens of each input, [B] int64.
    """

    segments: tuple[Segment, ...]
    input_ids: Tensor
    mask: Tensor
    type_ids: Tensor
    kinds: Tensor
    lengths: Tensor

    @property
    def tokens(self) -> int:
        """Real tokens in the batch."""
        return sum(map(len, self.segments))

    def once(self, make: Callable[[Batch], Made]) -> Made:
        """What a function makes of the batch, made once however often it is asked for."""
        made: dict[Callable[[Batch], Any], Any] = self.__dict__.setdefault("_made", {})
        if make not in made:
            made[make] = make(self)
        return cast(Made, made[make])

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device, or itself if it is there."""
        if device == self.mask.device:
            return self
        names = ("input_ids", "mask", "type_ids", "kinds", "lengths")
        return replace(self, **{name: getattr(self, name).to(device, non_blocking=True) for name in names})


def plan_batches(segments: Sequence[Sized], batch_tokens: int, batch_pairs: int | None = None) -> list[list[int]]:
    """Indices of the segments of each batch: longest first, padded size at most `batch_tokens`.

    `batch_pairs` also limits the pairs of tokens, since attention maps grow with them. A segment beyond either budget
    makes a batch of its own. The longest come first so that a batch too large for the memory fails at the start of a
    run and not at its end.
    """
    order = sorted(range(len(segments)), key=lambda index: (-len(segments[index]), index))
    plan: list[list[int]] = []
    for index in order:
        width = len(segments[plan[-1][0]]) if plan else 0
        tokens = width * (len(plan[-1]) + 1) if plan else 0
        if plan and tokens <= batch_tokens and (batch_pairs is None or width * tokens <= batch_pairs):
            plan[-1].append(index)
        else:
            plan.append([index])
    return plan


def make_batch(segments: Sequence[Segment], kinds: KindTable, pad_id: int) -> Batch:
    """Pad segments into tensors on the CPU."""
    lengths = np.array([len(segment) for segment in segments], dtype=np.int64)
    shape = (len(segments), int(lengths.max()))
    ids = np.full(shape, pad_id, dtype=np.int64)
    types = np.zeros(shape, dtype=np.int64)
    token_kinds = np.full(shape, TokenKind.OTHER, dtype=np.uint8)
    for row, segment in enumerate(segments):
        ids[row, : len(segment)] = segment.ids
        types[row, : len(segment)] = segment.type_ids
        token_kinds[row, : len(segment)] = kinds(segment.ids)
    return Batch(
        tuple(segments),
        torch.from_numpy(ids),
        torch.from_numpy(np.arange(shape[1]) < lengths[:, None]),
        torch.from_numpy(types),
        torch.from_numpy(token_kinds),
        torch.from_numpy(lengths),
    )


def iterate_batches(
    segments: Sequence[Segment], plan: Sequence[Sequence[int]], kinds: KindTable, pad_id: int
) -> Iterator[Batch]:
    """The batches of a plan, made one at a time."""
    for indices in plan:
        yield make_batch([segments[index] for index in indices], kinds, pad_id)
