"""The dependency study in a run against the bare forward pass, and on given maps against the loop of a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.measuring import Result, bare_forward, eager_twin, ratio
from headatlas.corpora.sample import sample_text
from headatlas.corpora.treebanks.label_sets import UNIVERSAL, possessive_clitic
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.encoding.batches import Batch, make_batch, plan_batches
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import ParsedSample, ParsedSegment, parsed_segments
from headatlas.engine.job import Observer
from headatlas.models.loading import load_model
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape
from headatlas.studies.dependencies import Dependencies
from headatlas.studies.study import LayerMap

GOAL = 1.3
LOOP_GOAL = 30.0
LAYERS, HEADS = 12, 12
BATCH_TOKENS = 4096
LOOP_SENTENCES = 64


def measure(quick: bool) -> Result:
    """Time of a survey with the study over that of the forward pass, on the sentences of the embedded sample."""
    model = load_model("embedded", device="cpu")
    sample = parsed_segments(
        read_treebank([sample_text().with_suffix(".conllu")]),
        model.tokenizer,
        max_tokens=128,
        counts_as=lambda sentence: possessive_clitic(sentence, UNIVERSAL),
    )
    batches = _batches(sample.segments, model)
    middle = len(batches) // 2
    if quick:
        batches = batches[middle - 1 : middle + 1]
    study = _started(sample, model.shapes[model.default_stack])
    observer, twin = Observer(model, {study.name: study}), eager_twin(model)

    def survey() -> None:
        for batch in batches:
            observer.observe(batch)
        study.state()

    def bare() -> None:
        for batch in batches:
            bare_forward(twin, batch)()

    times = ratio(survey, bare, rounds=3 if quick else 15)
    in_the_middle = batches[len(batches) // 2].segments[:LOOP_SENTENCES]
    few = make_batch(in_the_middle, kind_table(model.tokenizer), model.pad_id)
    loop = _over_the_loop(sample, few, rounds=3 if quick else 9)
    also = {"loop_ratio": round(loop, 1), "loop_goal": LOOP_GOAL, "sentences": len(sample.segments)}
    return Result("dependencies", times, GOAL, also=also, also_holds=loop >= LOOP_GOAL)


def _batches(segments: Sequence[ParsedSegment], model: Model) -> list[Batch]:
    kinds = kind_table(model.tokenizer)
    plan = plan_batches(segments, BATCH_TOKENS)
    return [make_batch([segments[index] for index in indices], kinds, model.pad_id) for indices in plan]


def _started(sample: ParsedSample, shape: HeadShape, **changes: Any) -> Dependencies:
    study = Dependencies(sample.relations, **changes)
    study.start(shape)
    return study


def _over_the_loop(sample: ParsedSample, batch: Batch, rounds: int) -> float:
    """How many times as long the loop takes on the maps of a 144-head model; neither side resamples."""
    dice = torch.Generator().manual_seed(0)
    rows, tokens = batch.mask.shape
    maps = [(2 * torch.randn(rows, HEADS, tokens, tokens, generator=dice)).softmax(-1) for _ in range(LAYERS)]
    stored = np.stack([layer.numpy() for layer in maps], axis=1)  # [B, L, H, Q, K]
    segments = cast(Sequence[ParsedSegment], batch.segments)
    study = _started(sample, HeadShape((HEADS,) * LAYERS), replicates=0, permutations=0)
    return ratio(lambda: _loop(segments, stored, len(sample.relations)), lambda: _see(study, maps, batch), rounds)


def _see(study: Dependencies, maps: list[Tensor], batch: Batch) -> None:
    for layer, weights in enumerate(maps):
        study.see(layer, LayerMap(weights, batch, None))
    study.end_batch(batch)
    study.state()


def _loop(segments: Sequence[ParsedSegment], stored: NDArray[np.float32], relations: int) -> NDArray[np.int64]:
    """What a notebook would do with saved maps: one sentence, one head, one direction at a time."""
    correct = np.zeros((LAYERS, HEADS, 2, relations), dtype=np.int64)
    for segment, maps in zip(segments, stored, strict=True):
        first_tokens = np.flatnonzero(np.diff(segment.words, prepend=SPECIAL))  # of words, and of the frame's end
        spans = [range(start, end) for start, end in pairwise(first_tokens)]
        for layer in range(LAYERS):
            for head in range(HEADS):
                words = _word_map(maps[layer, head], spans)
                for direction, attention in enumerate((words, words.T)):
                    predicted = np.argmax(attention, axis=-1)
                    right = predicted[segment.counts_as] == segment.heads
                    np.add.at(correct[layer, head, direction], segment.relations[right], 1)
    return correct


def _word_map(weights: NDArray[np.float32], spans: Sequence[range]) -> NDArray[np.float32]:
    """Attention between words: the sum to, the mean from a word's tokens; no word to itself."""
    to_words = np.stack([weights[:, span.start : span.stop].sum(-1) for span in spans], -1)
    words = np.stack([to_words[span.start : span.stop].mean(0) for span in spans])
    np.fill_diagonal(words, 0)
    return words
