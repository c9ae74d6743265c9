"""Clear examples of what the best heads do: sentences on which a head gets its whole relation right (figure 5).

For each relation with a best head, the model reads short sentences that have the relation. Those on which the head is
right about every word of the relation, with the largest weights, are kept. They are chosen to be clear, not typical:
the table says how often the head is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.batches import iterate_batches, plan_batches
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.word_segments import ParsedSegment
from headatlas.models.model import Observable
from headatlas.models.stacks import Stack
from headatlas.results.relation_examples import RelationExample
from headatlas.statistics.classifier import predictions
from headatlas.statistics.words import FromTokens, WordIndex, word_attention, word_index

SHORTEST, LONGEST = 4, 14  # words of a sentence that a picture shows well
POOL = 40  # sentences looked at for each relation
KEPT = 2  # examples of each relation


class BestHead(NamedTuple):
    """The columns of the table of best heads that are needed here."""

    relation: str
    layer: int
    head: int
    direction: str
    accuracy: float


def relation_examples(
    model: Observable,
    segments: Sequence[ParsedSegment],
    relations: Sequence[str],
    best: pd.DataFrame,
    *,
    kinds: KindTable,
    how: FromTokens,
    stack: Stack,
    batch_tokens: int,
) -> list[RelationExample]:
    """Return up to two examples of each relation in the table of best heads. relations: names by number."""
    number = {relation: index for index, relation in enumerate(relations)}
    rows = [BestHead(*values) for values in best[list(BestHead._fields)].itertuples(index=False, name=None)]
    rows = [row for row in rows if row.relation in number]
    pools = {row.relation: _pool(segments, number[row.relation]) for row in rows}
    chosen = sorted({place for pool in pools.values() for place in pool})
    maps = _head_maps(model, [segments[place] for place in chosen], kinds, how, stack, batch_tokens)
    maps_of = dict(zip(chosen, maps, strict=True))
    examples = []
    for row in rows:
        candidates = []
        for place in pools[row.relation]:
            weights, pairs = maps_of[place][row.layer][row.head - 1], _pairs(segments[place], number[row.relation])
            clarity = _clarity(weights, pairs, row.direction)
            if clarity is not None:
                candidates.append((clarity, _example(row, segments[place], weights, pairs)))
        candidates.sort(key=lambda candidate: -candidate[0])
        examples += [example for _, example in candidates[:KEPT]]
    return examples


def _pool(segments: Sequence[ParsedSegment], relation: int) -> list[int]:
    """Return the places of the first short sentences that have the relation."""
    fitting = (
        place
        for place, segment in enumerate(segments)
        if SHORTEST <= segment.size <= LONGEST and ((segment.relations == relation) & (segment.heads != ROOT)).any()
    )
    return [place for place, _ in zip(fitting, range(POOL), strict=False)]


def _pairs(segment: ParsedSegment, relation: int) -> list[tuple[int, int]]:
    """Return the pairs of the relation: the word that predicts, for some possessors their clitic, and the true head."""
    words = np.flatnonzero((segment.relations == relation) & (segment.heads != ROOT))
    return [(int(segment.counts_as[word]), int(segment.heads[word])) for word in words]


def _clarity(weights: NDArray[np.float32], pairs: Sequence[tuple[int, int]], direction: str) -> float | None:
    """Return the smallest weight on a true pair, or None if the head is wrong about one."""
    towards = weights if direction == "dependent_to_head" else weights.T
    every = torch.ones(1, len(weights), dtype=torch.bool)
    predicted, _ = predictions(torch.from_numpy(np.ascontiguousarray(towards))[None, None], every)
    if any(int(predicted[0, 0, dependent]) != head for dependent, head in pairs):
        return None
    return min(float(towards[dependent, head]) for dependent, head in pairs)


def _example(
    row: BestHead, segment: ParsedSegment, weights: NDArray[np.float32], pairs: list[tuple[int, int]]
) -> RelationExample:
    return RelationExample(words=segment.text, weights=weights, pairs=tuple(pairs), **row._asdict())


def _head_maps(
    model: Observable,
    segments: Sequence[ParsedSegment],
    kinds: KindTable,
    how: FromTokens,
    stack: Stack,
    batch_tokens: int,
) -> list[dict[int, NDArray[np.float32]]]:
    """Return the word maps of every layer (from 1) for each segment, without special tokens: [H, words, words]."""
    maps_of: list[dict[int, NDArray[np.float32]]] = [{} for _ in segments]
    plan = plan_batches(segments, batch_tokens)
    for places, batch in zip(plan, iterate_batches(segments, plan, kinds, model.pad_id), strict=True):
        moved = batch.to(model.device)
        layers: dict[int, Tensor] = {}
        model.observe(moved, partial(_keep, layers, word_index(moved), how), stack)
        for row, place in enumerate(places):
            size = segments[place].size
            maps_of[place] = {layer: maps[row, :, :size, :size].numpy().copy() for layer, maps in layers.items()}
    return maps_of


def _keep(
    layers: dict[int, Tensor], index: WordIndex, how: FromTokens, layer: int, weights: Tensor, _mask: Tensor | None
) -> None:
    layers[layer + 1] = word_attention(weights, index.index, index.size, how).to("cpu", torch.float32)
