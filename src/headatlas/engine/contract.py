"""What every study promises, checked on any study: its tables depend on what it saw and on nothing else.

A survey divides a corpus into batches, shards and workers, stops and resumes. None of that may change a number. Here a
study sees the same maps in many ways, and its tables are compared. The maps are recorded once, input by input, so that
a difference is the study's and never the model's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from pandas.api.types import is_float_dtype
from torch import Tensor
from torch.nn.functional import pad

from headatlas.checksums import pack_tensors, unpack_tensors
from headatlas.corpora.sampling import stable_hash
from headatlas.encoding.batches import Batch, make_batch
from headatlas.encoding.masking import Masker
from headatlas.encoding.segments import Segment
from headatlas.encoding.shards import Shard
from headatlas.encoding.word_segments import shorten
from headatlas.engine.corpora import KINDS, CorpusKind, Reading
from headatlas.engine.run import run_studies
from headatlas.engine.workers import Workers
from headatlas.errors import HeadatlasError, PluginError
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape
from headatlas.models.tiles import Tile
from headatlas.models.tiny import LONGEST, tiny_model
from headatlas.studies.findings import Finding
from headatlas.studies.labels import Label
from headatlas.studies.reductions import ReducedLayer
from headatlas.studies.state import Arrays
from headatlas.studies.study import LayerMap, Setup, Study, check_sums
from headatlas.tables import Table

TOLERANCE = 1e-5  # of floats, relative above 1 and absolute below; everything else must be equal
INPUTS = 12
RUBBISH = 0.7  # where a query is padding, maps may hold anything
BATCH_TOKENS = 160

Segments = Sequence[Segment]


@dataclass(frozen=True)
class Contract:
    """A study, and what it sees here.

    Attributes:
        study: The study; copies of it are run.
        model: The model that made the maps.
        segments: The inputs.
        maps: Each layer's map of each input by its id, [H, Q, K].
        setup: The settings.
    """

    study: Study
    model: Model
    segments: Segments
    maps: Mapping[str, Sequence[Tensor]]
    setup: Setup

    def check(self) -> None:
        """Check everything that needs one process. Raises AssertionError or PluginError."""
        blocks = self.in_batches(self.segments)
        whole = self.show(blocks)
        self.check_tables(whole)
        once = self.tables_of(whole)
        self.compare("calling frames twice", once, whole)
        self.compare("a batch for every input", once, self.show([[segment] for segment in self.segments]))
        self.compare("more padding", once, self.show(blocks, padding=5))
        self.compare("attention in blocks of rows", once, self.show(blocks, rows=5))
        self.compare("another order of inputs", once, self.show([block[::-1] for block in blocks[::-1]]))
        half = len(blocks) // 2 or 1
        for first, second, what in ((blocks[:half], blocks[half:], ""), (blocks[half:], blocks[:half], " in turn")):
            self.compare(f"merging two halves{what}", once, self.merge(first, second))
        self.compare("merging with an empty part", once, self.merge(blocks, []))
        shards = [self.in_batches(Shard(number, 3).of_segments(self.segments)) for number in (1, 2, 3)]
        self.compare("merging three shards", once, self.merge(*shards))
        resumed = self.resume(blocks[:half], blocks[half:])
        self.compare("stopping and resuming", once, resumed)
        if changed := _changed(whole.state(), resumed.state()):
            raise AssertionError(f"The study '{whole.name}': stopping and resuming gives other sums in '{changed}'.")
        self.check_uneven_heads()
        ForkingPickler.dumps(self.blank())

    def in_batches(self, segments: Segments) -> list[Segments]:
        """Divide inputs into batches of different sizes."""
        edges = [0, *(edge for edge in (1, 4, 6, 9) if edge < len(segments)), len(segments)]
        return [segments[start:end] for start, end in pairwise(edges) if end > start]

    def blank(self, shape: HeadShape | None = None, *, start: bool = True) -> Study:
        """Make a copy of the study that has seen nothing."""
        study = deepcopy(self.study)
        study.configure(self.setup)
        if start:
            study.start(shape or self.model.shapes[self.model.default_stack])
        return study

    def show(
        self, blocks: Sequence[Segments], padding: int = 0, study: Study | None = None, rows: int | None = None
    ) -> Study:
        """Let a study see batches, with more padding than they need, or in tiles of this many rows."""
        study = study or self.blank()
        for block in blocks:
            batch = make_batch(block, self.model.kinds, self.model.pad_id)
            wider = {
                name: pad(getattr(batch, name), (0, padding)) for name in ("input_ids", "mask", "type_ids", "kinds")
            }
            batch = Batch(batch.segments, lengths=batch.lengths, **wider)
            width = batch.mask.shape[1]
            for layer, heads in enumerate(study.shape.heads):
                weights = torch.full((len(block), heads, width, width), RUBBISH)
                for row, segment in enumerate(block):
                    size = len(segment)
                    weights[row, :, :size] = 0
                    weights[row, :, :size, :size] = self.maps[segment.id][layer][:heads]
                before = weights.clone()
                study.see(layer, _layer_map(study, layer, weights, batch, rows))
                if not torch.equal(before, weights):
                    raise AssertionError(f"The study '{study.name}' changes a map, which other studies see too.")
            study.end_batch(batch)
        return study

    def merge(self, *parts: Sequence[Segments]) -> Study:
        """Let a study see each part by itself, and merge the sums."""
        merged, *others = [self.show(part) for part in parts]
        for other in others:
            before = {name: array.copy() for name, array in other.state().items()}
            merged.merge(other)
            if _changed(before, other.state()):
                raise AssertionError(f"Merging the study '{self.study.name}' changes the study that is merged into it.")
        return merged

    def resume(self, first: Sequence[Segments], second: Sequence[Segments]) -> Study:
        """Save a study after some batches, restore it in another process's place, and show it the others."""
        content = pack_tensors(self.show(first).state(), {})
        resumed = self.blank()
        resumed.restore(unpack_tensors(content))
        return self.show(second, study=resumed)

    def tables_of(self, study: Study) -> dict[str, pd.DataFrame]:
        """Make the study's tables as they are declared."""
        before = {name: array.copy() for name, array in study.state().items()}
        declared = {table.name: table for table in study.tables}
        frames = study.frames()
        if wrong := sorted(declared.keys() ^ frames.keys()):
            raise AssertionError(f"The study '{study.name}' declares or makes, but not both: table {', '.join(wrong)}.")
        if changed := _changed(before, study.state()):
            raise AssertionError(f"The method frames of the study '{study.name}' changes its state '{changed}'.")
        return {name: declared[name].conform(frame) for name, frame in frames.items()}

    def check_tables(self, study: Study) -> None:
        """Check what the study declares against what it makes."""
        if not study.state():
            raise AssertionError(f"The study '{study.name}' declares no State: nothing could be merged or resumed.")
        check_sums(study)
        frames = self.tables_of(study)
        for table in study.tables:
            _check_table(study.name, table, frames[table.name])
        for name, drawn in study.replicates().items():
            rows = len(frames[name.partition("/")[0]])
            if drawn.shape != (study.replicate_count, rows):
                raise AssertionError(
                    f"The replicates of table {name} of the study '{study.name}' have shape {list(drawn.shape)}, but "
                    f"there are {study.replicate_count} replicates and {rows} rows."
                )
        if wrong := [label for label in study.labels(frames) if not isinstance(label, Label)]:
            raise AssertionError(f"The study '{study.name}' gives {type(wrong[0]).__name__}, not Label, as a label.")
        found = list(study.findings(frames))
        if unfinished := [one for one in found if not isinstance(one, str | Finding) or str(one)[-1:] not in ".!?)"]:
            raise AssertionError(f"A finding of the study '{study.name}' is not a sentence: {unfinished[0]}")

    def check_uneven_heads(self) -> None:
        """Check that layers may have different numbers of heads, as in a pruned model."""
        first, *others = self.model.shapes[self.model.default_stack].heads
        uneven = self.blank(HeadShape((first, *(heads - 1 for heads in others))))
        self.tables_of(self.show(self.in_batches(self.segments), study=uneven))

    def compare(self, what: str, expected: Mapping[str, pd.DataFrame], study: Study) -> None:
        """Compare a study's tables with those of one pass, and say in words what differs."""
        for name, frame in self.tables_of(study).items():
            if difference := describe_difference(expected[name], frame):
                raise AssertionError(f"The study '{study.name}': {what} gives {difference.format(table=name)}.")


def _layer_map(study: Study, layer: int, weights: Tensor, batch: Batch, rows: int | None) -> LayerMap:
    """Whole maps, or what the study's reductions make of blocks of rows whose memory is used again."""
    reductions = study.reductions()
    if rows is None or reductions is None:
        return LayerMap(weights, batch, None)
    reduced = ReducedLayer(layer, batch, weights, reductions)
    for place, length in enumerate(reduced.lengths):
        for first in range(0, length, rows):
            memory = weights[place : place + 1, :, first : min(first + rows, length)].clone()
            reduced.add(Tile(memory, segment=place, row=first))
            memory.fill_(torch.nan)
    return LayerMap.reduced(reduced.results(), batch, weights)


def check_workers(contracts: Mapping[str, Contract]) -> None:
    """Check that two processes give the tables of one, for all studies of a kind of corpus at once."""
    first = next(iter(contracts.values()))
    runs = [{name: contract.blank(start=False) for name, contract in contracts.items()} for _ in range(2)]
    for studies, workers in zip(runs, (None, Workers(2)), strict=True):
        failures = run_studies(
            first.model,
            first.segments,
            studies,
            kinds=first.model.kinds,
            batch_tokens=BATCH_TOKENS,
            seed=first.setup.seed,
            workers=workers,
        )
        for name, failure in failures.items():
            where = "in workers" if workers else "in this process"
            raise PluginError(f"The study '{name}' fails {where}: {failure}.")
    for name, contract in contracts.items():
        contract.compare("two workers", contract.tables_of(runs[0][name]), runs[1][name])


def make_contract(
    study: Study,
    *,
    kind: CorpusKind | None = None,
    files: Sequence[str | Path] | None = None,
    segments: Segments | None = None,
    causal: bool = False,
) -> Contract:
    """Read inputs for a study and record a tiny model's maps of them."""
    model = tiny_model(causal)
    about: Mapping[str, Any] = {}
    if segments is None:
        kind = kind or KINDS[study.corpus]()
        corpus = kind.read(sample_files(kind, files), model.tokenizer, small_reading())
        segments, about = spread(corpus.segments), corpus.about
    maps = {segment.id: record_maps(model, segment, study.watches) for segment in segments}
    return Contract(study, model, segments, maps, Setup(causal, 0, 20, 3, corpus=about))


def sample_files(kind: CorpusKind, files: Sequence[str | Path] | None) -> list[Path]:
    """Return the files to read a kind of corpus from: those that were given, or its own sample."""
    paths = kind.sample() if files is None else [Path(file) for file in files]
    if not paths:
        raise HeadatlasError(f"The kind of corpus '{kind.name}' has no sample. Pass small files of it as `files`.")
    return paths


def small_reading() -> Reading:
    """How corpora are read here: inputs that fit the tiny model, and few where a number is asked for."""
    return Reading(max_tokens=LONGEST, segments=INPUTS)


def spread(segments: Segments) -> list[Segment]:
    """Choose a few inputs of different lengths, in random order. Plain text comes in equal lengths, so it is cut."""
    by_length = sorted(segments, key=lambda segment: (len(segment), segment.id))
    chosen = by_length[:: max(1, len(by_length) // INPUTS)][-INPUTS:]
    cut = [shorten(one, LONGEST - 4 * place) if type(one) is Segment else one for place, one in enumerate(chosen)]
    return sorted(cut, key=lambda segment: stable_hash(segment.id))


def record_maps(model: Model, segment: Segment, watches: str) -> list[Tensor]:
    """Return what a study would see of an input by itself, layer by layer, [H, Q, K]."""
    maps: dict[int, Tensor] = {}

    def see(layer: int, weights: Tensor, _mask: Tensor | None) -> None:
        maps[layer] = weights[0].detach().float().clone()

    batch = make_batch([segment], model.kinds, model.pad_id)
    if watches == "gradients":
        model.observe_gradients(batch, see, Masker(model.tokenizer, 0) if model.language_model == "masked" else None)
    else:
        model.observe(batch, see)
    return [maps[layer] for layer in sorted(maps)]


def describe_difference(expected: pd.DataFrame, frame: pd.DataFrame) -> str | None:
    """Say how a table differs from what was expected; None if it does not, within the tolerance of floats."""
    if len(expected) != len(frame):
        return f"{len(frame)} rows in table {{table}} instead of {len(expected)}"
    for column in map(str, expected):
        before, now = expected[column], frame[column]
        if not is_float_dtype(before.dtype):
            if not before.equals(now):
                return f"other values in table {{table}}, column {column}"
            continue
        left, right = before.to_numpy(np.float64), now.to_numpy(np.float64)
        if not np.allclose(left, right, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            largest = np.nanmax(np.abs(left - right), initial=0.0)
            missing = " (values are missing in one of the two)" if (np.isnan(left) != np.isnan(right)).any() else ""
            return f"other values in table {{table}}, column {column} (largest difference {largest:.2g}){missing}"
    return None


def _check_table(study: str, table: Table, frame: pd.DataFrame) -> None:
    """Check that rows are unique, keys have declared values, and no number is infinite."""
    where = f"Table {table.name} of the study '{study}'"
    keys = [key.name for key in table.keys]
    if keys and frame.duplicated(keys).any():
        raise AssertionError(f"{where} has two rows with the same {', '.join(keys)}.")
    for key in table.keys:
        if key.labels and (unknown := sorted(set(frame[key.name]) - set(key.labels), key=str)):
            raise AssertionError(f"{where} has {unknown[0]!r} as {key.name}, which has no declared label.")
    for measure in (measure.name for measure in table.measures if measure.name in frame):
        values = frame[measure].to_numpy(np.float64)
        if np.isinf(values).any():
            raise AssertionError(f"{where} has infinite values in column {measure}.")
        if len(values) and np.isnan(values).all():
            raise AssertionError(f"{where} has no value in column {measure} (all are NaN).")


def _changed(before: Arrays, after: Arrays) -> str:
    """The name of a state that differs; empty if none does."""
    same = {name for name in before if np.array_equal(before[name], after[name], equal_nan=True)}
    return next(iter(before.keys() - same), "")
