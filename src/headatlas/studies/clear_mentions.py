"""Short stretches of text on which a mention attends most to its antecedent, kept for figure 5."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headatlas.encoding.batches import Batch
from headatlas.encoding.mention_segments import MentionSegment
from headatlas.models.stacks import HeadShape
from headatlas.statistics.words import segments_of
from headatlas.studies.coreference_baselines import antecedents
from headatlas.studies.kept_maps import BEST, LONGEST, POOL, SHORTEST, WRONG, ClearSentence, Keeper
from headatlas.studies.reductions import Reduction, RowsAsked, WordRows, rows_of_words
from headatlas.studies.state import State
from headatlas.studies.study import LayerMap, Setup
from headatlas.tables import records

DIRECTION = "mention_to_antecedent"


class Stretch(NamedTuple):
    """The words of a segment from an antecedent to a mention that refers back to it."""

    segment: str
    start: int
    words: tuple[str, ...]
    mention: int  # head words, counted from the segment's first word
    antecedent: int


class ClearMentions(Keeper):
    """The attention of all heads on short stretches, and how clearly each head attends to the antecedent there.

    A head is right if, of all other words of the segment, the mention's head word attends most to the antecedent's.
    """

    name = "mention_examples"
    corpus = "coreference"
    best_heads = "coreference_best"

    clarity = State("entries", "all_heads", dtype=np.float32)

    def __init__(self, segments: Sequence[MentionSegment], setup: Setup) -> None:
        super().__init__()
        self._how = setup.words_from
        stretches = [stretch for segment in segments if (stretch := first_stretch(segment)) is not None]
        self._stretches = stretches[:POOL]
        self._number = {stretch.segment: number for number, stretch in enumerate(self._stretches)}

    def sizes(self, shape: HeadShape) -> dict[str, int]:
        cells = [shape.total * len(stretch.words) ** 2 for stretch in self._stretches]
        self._starts = list(accumulate(cells, initial=0))
        return {"entries": len(self._stretches), "cells": sum(cells), "all_heads": shape.total}

    def reductions(self) -> list[Reduction]:
        return [WordRows(self._how, self._words)]

    def _words(self, batch: Batch) -> RowsAsked:
        """The words of the stretches in a batch."""
        words: list[range] = []
        for segment in batch.segments:
            number = self._number.get(segment.id)
            stretch = None if number is None else self._stretches[number]
            words.append(range(stretch.start, stretch.start + len(stretch.words)) if stretch else range(0))
        return rows_of_words(batch, words)

    def see(self, layer: int, layer_map: LayerMap) -> None:
        segments = segments_of(layer_map.batch, MentionSegment)
        rows = [row for row, segment in enumerate(segments) if segment.id in self._number]
        if not rows:
            return
        maps = layer_map.of(WordRows(self._how, self._words))[rows].to("cpu", torch.float32)
        words, first = max(segment.size for segment in segments), self.shape.first_heads[layer]
        for row, of_segment in zip(rows, maps, strict=True):
            number = self._number[segments[row].id]
            stretch = self._stretches[number]
            shown = slice(stretch.start, stretch.start + len(stretch.words))
            self._maps_of(number)[first : first + len(of_segment)] = of_segment[:, : len(stretch.words), shown].numpy()
            weights = of_segment[:, stretch.mention - stretch.start, :words].clone()
            weights[:, stretch.mention] = 0
            right = weights.argmax(1) == stretch.antecedent
            clarity = weights[:, stretch.antecedent].where(right, torch.tensor(WRONG))
            self.clarity[number, first : first + len(of_segment)] = clarity.numpy()

    def clearest(self, best: pd.DataFrame) -> list[tuple[dict[str, Any], ClearSentence]]:
        """The clearest stretches for the best head of all mentions, with what a figure says of it."""
        of_all = records(best[(best["mention_type"] == "all") & (best["candidates"] == "preceding")])
        if not of_all:
            return []
        row = of_all[0]
        head = self.shape.numbered.index((row["layer"], row["head"]))
        ranked = sorted((-float(of_heads[head]), number) for number, of_heads in enumerate(self.clarity))
        said = {"relation": self.corpus, "direction": DIRECTION, "accuracy": row["accuracy"]}
        said |= {"layer": row["layer"], "head": row["head"]}
        return [(said, self._sentence(number, head)) for faint, number in ranked[:BEST] if faint != -WRONG]

    def _maps_of(self, number: int) -> NDArray[np.float16]:
        size = len(self._stretches[number].words)
        cells = self.cells[self._starts[number] : self._starts[number + 1]]
        maps: NDArray[np.float16] = cells.reshape(self.shape.total, size, size)
        return maps

    def _sentence(self, number: int, head: int) -> ClearSentence:
        stretch = self._stretches[number]
        pair = (stretch.mention - stretch.start, stretch.antecedent - stretch.start)
        return ClearSentence(stretch.words, self._maps_of(number)[head], (pair,))


def first_stretch(segment: MentionSegment) -> Stretch | None:
    """The first mention whose nearest antecedent is close enough for a picture; None if there is none."""
    for mention, same in zip(segment.mentions, antecedents(segment.mentions), strict=True):
        if same:
            nearest = segment.mentions[same[-1]]
            if SHORTEST <= mention.end - nearest.start <= LONGEST and mention.head != nearest.head:
                words = segment.text[nearest.start : mention.end]
                return Stretch(segment.id, nearest.start, words, mention.head, nearest.head)
    return None
