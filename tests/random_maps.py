"""Attention maps and batches made up for tests, without a model or a tokenizer."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import torch
from hypothesis import strategies as st

from headatlas.encoding.batches import Batch, make_batch
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.segments import Segment
from headatlas.models.tiles import Tile
from headatlas.studies import STUDIES
from headatlas.studies.study import LayerMap, Study

OWN_KINDS = KindTable(np.arange(4, dtype=np.uint8))  # token id k has kind k

lengths_of_segments = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def segment(kinds: list[int], name: str = "s") -> Segment:
    """A segment whose token ids are its kinds."""
    ids = np.asarray(kinds, dtype=np.int32)
    return Segment(name, ids, np.zeros_like(ids), np.arange(len(ids), dtype=np.int32))


def random_segments(lengths: list[int], seed: int = 0) -> list[Segment]:
    """Segments of random kinds; the first token is often [CLS], the last often [SEP]."""
    dice = np.random.default_rng(seed)
    segments = []
    for number, length in enumerate(lengths):
        kinds = dice.choice([0, 0, 3], size=length)
        if dice.random() < 0.8:
            kinds[0] = 1
        if length > 1 and dice.random() < 0.8:
            kinds[-1] = 2
        segments.append(segment(kinds.tolist(), f"0.{number}.0"))
    return segments


def batch_of(segments: list[Segment]) -> Batch:
    """The segments, padded."""
    return make_batch(segments, OWN_KINDS, pad_id=0)


def random_maps(batch: Batch, layers: int = 1, heads: int = 3, seed: int = 0, extra: int = 0) -> list[torch.Tensor]:
    """Rows sum to 1 over real columns; some weights are exactly 0; padding rows hold rubbish. [B, H, T, T] a layer.

    Every segment's maps depend on its id alone, not on its batch. `extra` adds padding.
    """
    size = batch.mask.shape[1] + extra
    maps = []
    for layer in range(layers):
        weights = torch.full((len(batch.segments), heads, size, size), 0.7)
        for row, one in enumerate(batch.segments):
            n = len(one)
            dice = torch.Generator().manual_seed(zlib.crc32(f"{one.id} {layer} {seed}".encode()))
            scores = torch.randn(heads, n, n, generator=dice) * 3
            scores[torch.rand(heads, n, n, generator=dice) < 0.2] = -torch.inf
            scores[:, range(n), range(n)] = torch.randn(heads, n, generator=dice)
            weights[row, :, :n, :n] = scores.softmax(-1)
        maps.append(weights)
    return maps


tile_shapes = st.tuples(st.integers(1, 3), st.integers(1, 6))


def in_tiles(weights: torch.Tensor, inputs: int, rows: int) -> Iterator[Tile]:
    """The rows of whole maps, some inputs and rows at a time, without columns of zeros at either end."""
    for segment in range(0, len(weights), inputs):
        for row in range(0, weights.shape[2], rows):
            part = weights[segment : segment + inputs, :, row : row + rows]
            used = torch.nonzero(part.flatten(0, 2).any(0))[:, 0].tolist()
            low, high = (used[0], used[-1] + 1) if used else (0, 0)
            yield Tile(part[..., low:high], segment=segment, row=row, column=low)


def pad(batch: Batch, extra: int) -> Batch:
    """The same batch with more padding."""
    from dataclasses import replace

    def wider(tensor: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(tensor, (0, extra))

    return replace(
        batch,
        input_ids=wider(batch.input_ids),
        mask=wider(batch.mask),
        type_ids=wider(batch.type_ids),
        kinds=wider(batch.kinds),
    )


def show(study: Study, batches: list[Batch], layers: int = 2, heads: int = 3) -> Study:
    """Let a study see random maps of batches."""
    from headatlas.models.stacks import HeadShape

    study.start(HeadShape((heads,) * layers))
    for batch in batches:
        for layer, weights in enumerate(random_maps(batch, layers, heads)):
            study.see(layer, LayerMap(weights, batch, None))
        study.end_batch(batch)
    return study


TEXT_STUDIES = {name: study for name, study in STUDIES.items() if study.corpus == "text"}


def table_of(study):
    """The first table of a study."""
    return study.frames()[study.tables[0].name]
