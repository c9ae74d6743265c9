"""Studies of another package that fail, each in its own way, and a kind of corpus that does."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd
import torch
from torch import Tensor

import headatlas as ha
from headatlas.studies.labels import Tables

COLUMNS = (*ha.ONE_HEAD, ha.Value("value", "mean attention", "share"), *ha.VALUE_INTERVAL, ha.COUNT)


class Sound(ha.SegmentMeans):
    """What the others have in common; by itself it works."""

    def segment_means(self, layer_map: ha.LayerMap) -> Tensor:
        return layer_map.surface[..., :1] / layer_map.batch.lengths[:, None, None]


class WrongShape(Sound):
    name = "wrong_shape"
    tables = (ha.Table("wrong_shape", "?", COLUMNS),)

    def segment_means(self, layer_map: ha.LayerMap) -> Tensor:
        return torch.zeros(2, 2)


class FailsToSee(Sound):
    name = "fails_to_see"
    tables = (ha.Table("fails_to_see", "?", COLUMNS),)

    def see(self, layer: int, layer_map: ha.LayerMap) -> None:
        if layer == 1:
            raise IndexError("no such layer")
        super().see(layer, layer_map)


class FailsToEnd(Sound):
    name = "fails_to_end"
    tables = (ha.Table("fails_to_end", "?", COLUMNS),)

    def end_batch(self, batch: ha.Batch) -> None:
        raise ZeroDivisionError("division by zero")


class FailsToMakeFrames(Sound):
    name = "fails_to_make_frames"
    tables = (ha.Table("fails_to_make_frames", "?", COLUMNS),)

    def frames(self) -> dict[str, pd.DataFrame]:
        return {"fails_to_make_frames": super().frames()["fails_to_make_frames"].drop(columns="low")}


class FailsToFind(Sound):
    name = "fails_to_find"
    tables = (ha.Table("fails_to_find", "?", COLUMNS),)

    @classmethod
    def findings(cls, tables: Tables) -> Iterator[str]:
        yield f"There are {len(tables)} tables."
        raise KeyError("positions")


class FailsToLabel(Sound):
    name = "fails_to_label"
    tables = (ha.Table("fails_to_label", "?", COLUMNS),)

    @classmethod
    def labels(cls, tables: Tables) -> Iterator[ha.Label]:
        yield ha.Label(1, 1, "never given", 1.0, f"{len(tables)} tables")
        raise RuntimeError("no labels today")


class NotANumber(Sound):
    name = "not_a_number"
    tables = (ha.Table("not_a_number", "?", COLUMNS),)

    def segment_means(self, layer_map: ha.LayerMap) -> Tensor:
        return super().segment_means(layer_map) * math.nan


class NoState(ha.Study):
    """Keeps its sums in an attribute, so that they can be neither merged nor saved."""

    name = "no_state"
    tables = (ha.Table("no_state", "?", COLUMNS),)

    def see(self, layer: int, layer_map: ha.LayerMap) -> None:
        self.sums = layer_map.weights.sum()

    def end_batch(self, batch: ha.Batch) -> None:
        pass

    def frames(self) -> dict[str, pd.DataFrame]:
        return {}


class TakenTable(Sound):
    name = "taken_table"
    tables = (ha.Table("positions", "?", COLUMNS),)


class Positions(Sound):
    """Has the name of a study that exists."""

    name = "positions"
    tables = (ha.Table("other_positions", "?", COLUMNS),)


class OtherName(Sound):
    name = "another_name"
    tables = (ha.Table("another_name", "?", COLUMNS),)


class CannotBeMade(Sound):
    name = "cannot_be_made"
    tables = (ha.Table("cannot_be_made", "?", COLUMNS),)

    def __init__(self) -> None:
        raise OSError("no such device")


class OfBrokenCorpus(Sound):
    name = "of_broken_corpus"
    corpus = "broken_corpus"
    tables = (ha.Table("of_broken_corpus", "?", COLUMNS),)


class BrokenCorpus(ha.CorpusKind):
    name = "broken_corpus"
    help = "A corpus that cannot be read."
    called = "broken corpus"

    def read(self, files: object, tokenizer: object, reading: ha.Reading) -> ha.Corpus:
        raise AttributeError("'Reading' has no attribute 'nothing'")


ENTRY_POINTS = {
    "headatlas.studies": {
        "wrong_shape": "broken:WrongShape",
        "fails_to_see": "broken:FailsToSee",
        "fails_to_end": "broken:FailsToEnd",
        "fails_to_make_frames": "broken:FailsToMakeFrames",
        "fails_to_find": "broken:FailsToFind",
        "fails_to_label": "broken:FailsToLabel",
        "not_a_number": "broken:NotANumber",
        "no_state": "broken:NoState",
        "taken_table": "broken:TakenTable",
        "positions": "broken:Positions",
        "wrong_name": "broken:OtherName",
        "cannot_be_made": "broken:CannotBeMade",
        "of_broken_corpus": "broken:OfBrokenCorpus",
        "cannot_be_imported": "module_that_does_not_exist:Study",
    },
    "headatlas.corpora": {"broken_corpus": "broken:BrokenCorpus", "lost_corpus": "module_that_does_not_exist:Kind"},
}
"""What an installed package would declare."""
