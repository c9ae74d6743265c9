"""The keyphrase study in a run against the bare forward pass, and the time that finding phrases takes a document."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measuring import Result, bare_forward, eager_twin, ratio
from headatlas.commands.keyphrases.candidates import (
    Candidate,
    between_stop_words,
    find_candidates,
    score_candidates,
)
from headatlas.commands.keyphrases.methods import combined, text_rank_weights, yake_rankings
from headatlas.commands.keyphrases.phrases import Document, of_texts, with_keyphrases
from headatlas.commands.keyphrases.reading import read_keyphrases
from headatlas.commands.keyphrases.segments import KeyphraseSegment, text_windows
from headatlas.commands.keyphrases.study import Keyphrases
from headatlas.commands.keyphrases.word_weights import encode_documents, word_weights
from headatlas.corpora.sample import sample_text
from headatlas.corpora.text import read_text
from headatlas.encoding.batches import make_batch
from headatlas.engine.job import Observer
from headatlas.models.loading import load_model
from headatlas.models.model import Model

GOAL = 1.15
CORPUS = "HEADATLAS_KEYPHRASES"  # a corpus whose documents are timed in place of the sample's
ROWS, TOKENS, EVERY = 16, 128, 4  # one word in four is key, as in abstracts


def measure(quick: bool) -> Result:
    """The study's ratio; milliseconds a document for attention, TextRank and YAKE."""
    model = load_model("embedded", device="cpu")
    documents = of_texts(read_text([sample_text()]), Counter())
    segments = _segments(model, documents)[:ROWS]
    batch = make_batch(segments, model.kinds, model.pad_id)
    study = Keyphrases()
    study.start(model.shapes[model.default_stack])
    observer = Observer(model, {study.name: study})
    found = ratio(lambda: observer.observe(batch), bare_forward(eager_twin(model), batch), 9 if quick else 31)
    chosen, name = _timed_documents(documents)
    chosen = chosen[:8] if quick else chosen
    also = {"ms_a_document": _times(model, chosen), "documents": len(chosen), "corpus": name}
    return Result("keyphrases", found, GOAL, also=also)


def _timed_documents(sample: list[Document]) -> tuple[list[Document], str]:
    """The corpus that the environment names, else the embedded sample; with its name."""
    if corpus := os.environ.get(CORPUS):
        return with_keyphrases(read_keyphrases([Path(corpus)])), Path(corpus).name
    return sample[:64], "the embedded sample"


def _segments(model: Model, documents: list[Document]) -> list[KeyphraseSegment]:
    """Whole windows of the sample, with made-up tags."""
    ids, texts = [one.id for one in documents], [one.words for one in documents]
    found = []
    for segment in text_windows(ids, texts, model.tokenizer, TOKENS, Counter()):
        segment.tags[::EVERY] = 1
        found.append(segment)
    return sorted(found, key=len, reverse=True)


def _times(model: Model, documents: list[Document]) -> dict[str, float]:
    """Milliseconds a document, candidates included; what is made at a first call is made before."""
    options: dict[str, Any] = {"pooling": "mean", "rows": "all", "batch_tokens": 4096}

    def attention(some: list[Document]) -> None:
        segments = encode_documents(some, model.tokenizer, 512, Counter())
        received = word_weights(model, some, segments, stack=model.default_stack, **options)
        for one, weights in zip(some, received, strict=True):
            score_candidates(_candidates(one), combined(weights, [0]))

    def text_rank(some: list[Document]) -> None:
        for one in some:
            _by_text_rank(one)

    methods: dict[str, Callable[[list[Document]], object]] = {"attention": attention, "text_rank": text_rank}
    if yake_rankings([], "keep") is not None:
        methods["yake"] = lambda some: yake_rankings(some, "keep")
    found = {}
    for name, run in methods.items():
        run(documents[:4])
        start = time.perf_counter()
        run(documents)
        found[name] = round(1000 * (time.perf_counter() - start) / len(documents), 1)
    return found


def _by_text_rank(document: Document) -> None:
    candidates = _candidates(document)
    score_candidates(candidates, text_rank_weights(document, candidates))


def _candidates(document: Document) -> list[Candidate]:
    return find_candidates(document.words, between_stop_words)
