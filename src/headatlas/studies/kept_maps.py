"""The maps of a few chosen inputs, kept while the model passes over a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.corpora.treebanks.label_sets import punctuation_of
from headatlas.corpora.treebanks.sentence import ROOT
from headatlas.encoding.batches import Batch
from headatlas.encoding.segments import Segment
from headatlas.encoding.word_segments import ParsedSegment
from headatlas.models.stacks import HeadShape
from headatlas.models.tiles import Tile
from headatlas.statistics.words import predictions
from headatlas.studies.reductions import Reduction, Words
from headatlas.studies.state import State
from headatlas.studies.study import Frames, LayerMap, Setup, Study
from headatlas.tables import records

SHORTEST, LONGEST = 4, 14  # words of a sentence that a picture shows well
POOL = 40  # sentences looked at for each relation
BEST = 2  # sentences kept of each relation
WRONG = -1.0  # in place of a clarity: the head is wrong about a word of the sentence


class Keeper(Study):
    """A study without tables: what it keeps is merged, saved and restored like any sum.

    Every input is seen once, and nothing is added where it was not seen.
    """

    tables = ()
    cells = State("cells", dtype=np.float16)  # of the maps, one after the other

    def end_batch(self, batch: Batch) -> None:
        """Nothing is left to do: every map was kept when it was seen."""

    def frames(self) -> Frames:
        return {}


class KeptMaps(Keeper):
    """All maps of some segments, by id."""

    name = "examples"

    def __init__(self, segments: Sequence[Segment]) -> None:
        super().__init__()
        self._lengths = {segment.id: len(segment) for segment in segments}

    def sizes(self, shape: HeadShape) -> dict[str, int]:
        of_all = [shape.layers * shape.most_heads * length**2 for length in self._lengths.values()]
        self._starts = dict(zip(self._lengths, accumulate(of_all, initial=0), strict=False))
        return {"cells": sum(of_all)}

    def maps_of(self, segment: Segment) -> NDArray[np.float16]:
        """The maps of a segment: [layers, heads, tokens, tokens]; zero where a layer has fewer heads."""
        length, start = self._lengths[segment.id], self._starts[segment.id]
        shape = (self.shape.layers, self.shape.most_heads, length, length)
        maps: NDArray[np.float16] = self.cells[start : start + int(np.prod(shape))].reshape(shape)
        return maps

    def reductions(self) -> list[Reduction]:
        return [_KeepChosen(self)]

    def see(self, layer: int, layer_map: LayerMap) -> None:
        layer_map.of(_KeepChosen(self), layer)

    def keep_rows(self, layer: int, tile: Tile, batch: Batch) -> None:
        """Keep the tile's rows of the chosen segments."""
        for weights, segment in zip(tile.weights, batch.segments[tile.segments], strict=True):
            if segment.id in self._lengths:
                rows, columns = (slice(part.start, min(part.stop, len(segment))) for part in (tile.rows, tile.columns))
                part = weights[:, : rows.stop - tile.row, : columns.stop - tile.column].to("cpu", torch.float32)
                self.maps_of(segment)[layer, tile.heads, rows, columns] = part.numpy()


@dataclass(frozen=True)
class _KeepChosen(Reduction):
    """Lets `KeptMaps` keep what it wants of each tile."""

    study: KeptMaps

    def start(self, layer: int, batch: Batch, like: Tensor) -> int:
        return layer

    def add(self, sums: int, tile: Tile, batch: Batch) -> None:
        self.study.keep_rows(sums, tile, batch)


class ClearSentence(NamedTuple):
    """A sentence on which a head gets every word of a relation right, with the head's attention between words."""

    words: tuple[str, ...]
    weights: NDArray[np.float16]  # [words, words], row = from
    pairs: tuple[tuple[int, int], ...]  # dependent and head


class ClearSentences(Keeper):
    """Short sentences on which heads are right about every word of a relation, with the largest weights (figure 5).

    Which head is best for a relation is known only after the pass. So for every relation that will have a best head,
    the first short sentences are kept: how clear each head is on each of them, and the attention of all heads.
    """

    name = "relation_examples"
    corpus = "treebank"
    best_heads = "dependency_best"

    clarity = State("entries", "all_heads", 2, dtype=np.float32)  # by relation and sentence; both directions

    def __init__(self, segments: Sequence[ParsedSegment], setup: Setup) -> None:
        super().__init__()
        self._how = setup.words_from
        self._number = {relation: number for number, relation in enumerate(setup.corpus["relations"])}
        punctuation = punctuation_of(setup.corpus["label_set"])
        pools = _pools(segments, len(self._number), setup.least_count)
        self._pools = {name: pools[number] for name, number in self._number.items() if name not in punctuation}
        entries = [(relation, place) for relation, pool in self._pools.items() for place in pool]
        self._entry = {entry: number for number, entry in enumerate(entries)}
        self._segments = {place: segments[place] for place in sorted({place for _, place in entries})}
        self._place_of = {segment.id: place for place, segment in self._segments.items()}

    def sizes(self, shape: HeadShape) -> dict[str, int]:
        of_all = [shape.total * segment.size**2 for segment in self._segments.values()]
        self._starts = dict(zip(self._segments, accumulate(of_all, initial=0), strict=False))
        return {"entries": len(self._entry), "cells": sum(of_all), "all_heads": shape.total}

    def reductions(self) -> list[Reduction]:
        return [Words(self._how)]

    def see(self, layer: int, layer_map: LayerMap) -> None:
        rows = [row for row, segment in enumerate(layer_map.batch.segments) if segment.id in self._place_of]
        if not rows:
            return
        maps = layer_map.of(Words(self._how))[rows].to("cpu", torch.float32)
        for row, of_segment in zip(rows, maps, strict=True):
            place = self._place_of[layer_map.batch.segments[row].id]
            size = self._segments[place].size
            self._keep(place, self.shape.first_heads[layer], of_segment[:, :size, :size])

    def clearest(self, best: pd.DataFrame) -> list[tuple[dict[str, Any], ClearSentence]]:
        """Up to two sentences for each row of the table of best heads that has any, with that row."""
        clearest: list[tuple[dict[str, Any], ClearSentence]] = []
        for row in records(best):
            relation, head = row["relation"], self.shape.numbered.index((row["layer"], row["head"]))
            direction = 0 if row["direction"] == "dependent_to_head" else 1
            ranked = [
                (-float(self.clarity[self._entry[relation, place], head, direction]), place)
                for place in self._pools.get(relation, ())
            ]
            right = sorted((pair for pair in ranked if pair[0] != -WRONG), key=lambda pair: pair[0])
            clearest += [(row, self._sentence(relation, place, head)) for _, place in right[:BEST]]
        return clearest

    def _pairs(self, relation: str, place: int) -> list[tuple[int, int]]:
        """Return the pairs of the relation: the word that predicts, for some possessors their clitic, and the head."""
        segment, number = self._segments[place], self._number[relation]
        words = np.flatnonzero((segment.relations == number) & (segment.heads != ROOT))
        return [(int(segment.counts_as[word]), int(segment.heads[word])) for word in words]

    def _keep(self, place: int, first: int, maps: Tensor) -> None:
        """Keep the word maps [H, W, W] of a layer's heads, the first of them of that number, and how clear they are."""
        heads, every = len(maps), torch.ones(1, maps.shape[-1], dtype=torch.bool)
        self._maps_of(place)[first : first + heads] = maps.numpy()
        predicted = [words[0] for words in predictions(maps[None].contiguous(), every)]  # [H, W]
        towards = [maps, maps.transpose(1, 2)]
        for relation, pool in self._pools.items():
            if place not in pool:
                continue
            dependents, true = torch.tensor(self._pairs(relation, place)).T
            for direction, (weights, words) in enumerate(zip(towards, predicted, strict=True)):
                right = (words[:, dependents] == true).all(1)
                clarity = weights[:, dependents, true].amin(1).where(right, torch.tensor(WRONG))
                self.clarity[self._entry[relation, place], first : first + heads, direction] = clarity.numpy()

    def _maps_of(self, place: int) -> NDArray[np.float16]:
        """The word maps of all heads on a sentence: [H, W, W]."""
        size, start = self._segments[place].size, self._starts[place]
        cells = self.cells[start : start + self.shape.total * size**2]
        maps: NDArray[np.float16] = cells.reshape(self.shape.total, size, size)
        return maps

    def _sentence(self, relation: str, place: int, head: int) -> ClearSentence:
        pairs = tuple(self._pairs(relation, place))
        return ClearSentence(self._segments[place].text, self._maps_of(place)[head], pairs)


def _pools(segments: Sequence[ParsedSegment], relations: int, least_count: int) -> list[list[int]]:
    """Return the places of the first short sentences with each relation; none if it is too rare for a best head."""
    of_segments = [segment.relations[segment.heads != ROOT] for segment in segments]
    counts = np.bincount(np.concatenate(of_segments), minlength=relations) if segments else np.zeros(relations)
    pools: list[list[int]] = [[] for _ in range(relations)]
    for place, (segment, present) in enumerate(zip(segments, of_segments, strict=True)):
        if SHORTEST <= segment.size <= LONGEST:
            for relation in np.unique(present).tolist():
                if counts[relation] >= least_count and len(pools[relation]) < POOL:
                    pools[relation].append(place)
    return pools
