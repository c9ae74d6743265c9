"""Training the cumulative edge probes of all layers on stored states, against the forward pass that made them."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import torch

from benchmarks.measuring import Result, forward_passes, ratio
from headatlas.commands.extract.run import keep_inputs
from headatlas.corpora.sample import sample_treebank
from headatlas.corpora.spans.tasks import read_span_texts
from headatlas.encoding.span_segments import span_segments
from headatlas.models.loading import load_model
from headatlas.probes.span_batches import SpanTargets, labels_of
from headatlas.probes.span_probes import EdgeProbe
from headatlas.probes.training import fit_updates

GOAL = 0.3
TASK = "dependencies"
QUICK_SENTENCES = 300
BATCH = 128  # targets
WIDTH = 64


def measure(quick: bool) -> Result:
    """Time of one pass of training over that of the forward pass, on the same sentences of the embedded sample."""
    model = load_model("embedded", device="cpu")
    texts = read_span_texts([Path(sample_treebank())], [TASK], 0, Counter())
    segments = span_segments(texts, model.tokenizer, max_tokens=128, left_out=Counter())
    if quick:
        segments = segments[:QUICK_SENTENCES]
    with tempfile.TemporaryDirectory() as folder:
        store = keep_inputs(
            model,
            segments,
            (),
            corpora={},
            settings={},
            out=Path(folder),
            level="tokens",
            maps=False,
            hidden_states=True,
            batch_tokens=4096,
            stack=model.default_stack,
        )
        of_texts = [segment.targets[TASK] for segment in segments]
        labels = labels_of((target for targets in of_texts for target in targets), None)
        targets = SpanTargets(store, range(len(segments)), of_texts, labels, torch.device("cpu"))
        for place in range(len(targets)):
            targets.batch([place], "states")  # into memory
        layers, updates = range(store.shape.layers + 1), -(-int(targets.counts.sum()) // BATCH)

        def make() -> EdgeProbe:
            return EdgeProbe(layers, store.index.states, labels, spans=targets.spans, width=WIDTH, seeds=[0])

        def train() -> None:
            fit_updates(make, targets, updates, BATCH, 0)

        times = ratio(train, forward_passes(model, segments), rounds=3 if quick else 15)
    return Result("layers", times, GOAL, also={"layers": len(layers), "targets": int(targets.counts.sum())})
