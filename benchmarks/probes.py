"""Training the attention-and-words probe on stored maps, against the forward pass that made them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch

from benchmarks.measuring import Result, forward_passes, ratio
from headatlas.commands.extract.options import extract
from headatlas.corpora.sample import sample_treebank
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.encoding.word_segments import parsed_segments
from headatlas.models.loading import load_model
from headatlas.probes.attention import AttentionWordsProbe
from headatlas.probes.batches import Sentences
from headatlas.probes.training import TrainingSettings, fit
from headatlas.probes.vectors import WordVectors

GOAL = 0.1
WIDTH = 50
QUICK_SENTENCES = 300
HELD_OUT = 2  # sentences: a pass over them is part of the time


def measure(quick: bool) -> Result:
    """Time of one pass of training over that of the forward pass, on the same sentences of the embedded sample."""
    model = load_model("embedded", device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        store = extract(model, treebank=sample_treebank(), out=Path(folder) / "maps", progress=False)
        words = sorted({word for example in store.examples for word in example.words or ()})
        table = np.random.default_rng(0).normal(size=(len(words) + 1, WIDTH)).astype(np.float32)
        vectors = WordVectors(table, {word: row for row, word in enumerate(words)}, {})
        sentences = Sentences(store, vectors, torch.device("cpu"))
        used = QUICK_SENTENCES if quick else len(sentences)
        for place in range(used):
            sentences.batch([place], "maps")  # into memory
        sample = parsed_segments(read_treebank([Path(sample_treebank())]), model.tokenizer, max_tokens=128)
        bare = forward_passes(model, sample.segments[:used])
        heads, frozen = store.shape.total, torch.from_numpy(table)

        def train() -> None:
            places, held_out = range(HELD_OUT, used), range(HELD_OUT)
            fit(lambda: AttentionWordsProbe(heads, frozen), sentences, places, held_out, TrainingSettings(epochs=1), 0)

        times = ratio(train, bare, rounds=3 if quick else 15)
    return Result("probes", times, GOAL, also={"sentences": used})
