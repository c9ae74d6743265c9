"""Clear examples of what the best heads do: sentences on which a head gets its whole relation right (figure 5).

For each relation with a best head, sentences of a picture's length that hold the relation are shown to the model, and
those are kept on which the head is right about every one of its words and puts most weight there. They are chosen to be
clear, not to be typical: how often the head is right stands in the table.
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
    """A row of the table of best heads, as far as it is needed here."""

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
    """Up to two examples of each relation in the table of best heads, in its order. relations: the sample's."""
    number = {relation: index for index, relation in enumerate(relations)}
    rows = [BestHead(*values) for values in best[list(BestHead._fields)].itertuples(index=False, name=None)]
    rows = [row for row in rows if row.relation in number]
    pools = {row.relation: _pool(segments, number[row.relation]) for row in rows}
    chosen = sorted({place for pool in pools.values() for place in pool})
    maps = _head_maps(model, [segments[place] for place in chosen], kinds, how, stack, batch_tokens)
    seen = dict(zip(chosen, maps, strict=True))
    examples = []
    for row in rows:
        found = []
        for place in pools[row.relation]:
            weights, pairs = seen[place][row.layer][row.head - 1], _pairs(segments[place], number[row.relation])
            clarity = _clarity(weights, pairs, row.direction)
            if clarity is not None:
                found.append((clarity, _example(row, segments[place], weights, pairs)))
        found.sort(key=lambda pair: -pair[0])
        examples += [example for _, example in found[:KEPT]]
    return examples


def _pool(segments: Sequence[ParsedSegment], relation: int) -> list[int]:
    """The first sentences of fitting length that hold the relation."""
    fitting = (
        place
        for place, segment in enumerate(segments)
        if SHORTEST <= segment.size <= LONGEST and ((segment.relations == relation) & (segment.heads != ROOT)).any()
    )
    return [place for place, _ in zip(fitting, range(POOL), strict=False)]


def _pairs(segment: ParsedSegment, relation: int) -> list[tuple[int, int]]:
    """Where the relation holds: the word that predicts, which is the clitic for some possessors, and the true head."""
    words = np.flatnonzero((segment.relations == relation) & (segment.heads != ROOT))
    return [(int(segment.counts_as[word]), int(segment.heads[word])) for word in words]


def _clarity(weights: NDArray[np.float32], pairs: Sequence[tuple[int, int]], direction: str) -> float | None:
    """The least weight on a true pair, or None where the head is wrong about one."""
    towards = weights if direction == "dependent_to_head" else weights.T
    every = torch.ones(1, len(weights), dtype=torch.bool)
    found, _ = predictions(torch.from_numpy(np.ascontiguousarray(towards))[None, None], every)
    if any(int(found[0, 0, dependent]) != head for dependent, head in pairs):
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
    """For each segment the word maps of every layer (from 1), special tokens left away: [H, words, words]."""
    found: list[dict[int, NDArray[np.float32]]] = [{} for _ in segments]
    plan = plan_batches(segments, batch_tokens)
    for places, batch in zip(plan, iterate_batches(segments, plan, kinds, model.pad_id), strict=True):
        there = batch.to(model.device)
        layers: dict[int, Tensor] = {}
        model.observe(there, partial(_keep, layers, word_index(there), how), stack)
        for row, place in enumerate(places):
            size = segments[place].size
            found[place] = {layer: maps[row, :, :size, :size].numpy().copy() for layer, maps in layers.items()}
    return found


def _keep(
    layers: dict[int, Tensor], index: WordIndex, how: FromTokens, layer: int, weights: Tensor, _mask: Tensor | None
) -> None:
    layers[layer + 1] = word_attention(weights, index.index, index.size, how).to("cpu", torch.float32)
