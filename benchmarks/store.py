"""Writing a store against the bare forward pass, and reading it against running the model again."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measuring import Result, bare_forward, eager_twin, ratio
from headatlas.corpora.sample import sample_treebank
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.encoding.batches import make_batch, plan_batches
from headatlas.encoding.word_segments import ParsedSegment, parsed_segments
from headatlas.manifest import versions
from headatlas.models.facts import describe_model
from headatlas.models.loading import load_model
from headatlas.models.model import Model
from headatlas.store.examples import example_of
from headatlas.store.index import Index
from headatlas.store.reading import open_store
from headatlas.store.word_maps import observe_maps
from headatlas.store.writing import write_store

GOAL = 1.2
READING_GOAL = 5.0
BATCH_TOKENS = 4096
QUICK_SENTENCES = 160


def measure(quick: bool) -> Result:
    """Time of observing, writing and hashing the word maps of the embedded sample over that of the forward pass."""
    model = load_model("embedded", device="cpu")
    sample = parsed_segments(read_treebank([sample_treebank()]), model.tokenizer, max_tokens=128)
    segments = sample.segments[:QUICK_SENTENCES] if quick else sample.segments
    index = _index(model, segments, sample.relations)
    plan = plan_batches(segments, BATCH_TOKENS)
    batches = [make_batch([segments[place] for place in places], model.kinds, model.pad_id) for places in plan]
    twin = eager_twin(model)

    def bare() -> None:
        for batch in batches:
            bare_forward(twin, batch)()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)

        def extract() -> None:
            write_store(
                path,
                index,
                lambda places: observe_maps(
                    model, segments[places.start : places.stop], "words", batch_tokens=BATCH_TOKENS
                ),
            )

        def read() -> None:
            for sentence in open_store(path).word_maps():
                sentence.maps.sum()

        extracted = ratio(extract, bare, rounds=3 if quick else 5)
        reading = ratio(bare, read, rounds=3 if quick else 5)
    also = {"reading_ratio": round(reading, 1), "reading_goal": READING_GOAL, "sentences": len(segments)}
    return Result("store", extracted, GOAL, also=also, also_holds=reading >= READING_GOAL)


def _index(model: Model, segments: list[ParsedSegment], relations: tuple[str, ...]) -> Index:
    names, kinds = model.tokenizer.convert_ids_to_tokens, model.kinds
    return Index(
        level="words",
        dtype="float16",
        states=0,
        file_bytes=256 * 10**6,
        model=describe_model(model, model.default_stack),
        settings={},
        corpora={},
        versions=versions(),
        examples=[
            example_of(segment, names(segment.ids.tolist()), kinds(segment.ids), relations) for segment in segments
        ],
    )
