"""Training the cumulative probes of all layers together against a loop of one after the other, at like scores."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np
import torch

from benchmarks.measuring import Result, ratio
from headatlas.commands.extract.run import keep_inputs
from headatlas.corpora.sample import sample_treebank
from headatlas.corpora.spans.tasks import read_span_texts
from headatlas.encoding.span_segments import span_segments
from headatlas.models.loading import load_model
from headatlas.probes.edge import EdgeProbe
from headatlas.probes.mixing import SpanProbe
from headatlas.probes.span_batches import SpanTargets, labels_of
from headatlas.probes.span_scores import score_spans

GOAL = 3.0
LIKE = 0.02  # micro F1 of any layer's probe, together and alone, differ by no more
TASK = "dependencies"
EVERY = 5  # each fifth sentence is scored on
QUICK_SENTENCES = 300
EPOCHS = 3
BATCH = 128  # targets
STEPS = 6  # between two looks at the clock
WIDTH = 64


def measure(quick: bool) -> Result:
    """Time of the loop over that of the batched training for as many steps, on the embedded model and sample."""
    with tempfile.TemporaryDirectory() as folder:
        targets = _targets(Path(folder))
        used = QUICK_SENTENCES if quick else len(targets)
        train = [place for place in range(used) if place % EVERY]
        scored = [place for place in range(used) if place % EVERY == 0]
        for place in range(used):
            targets.batch([place], "states")  # read once, for both alike
        every = range(targets.store.shape.layers + 1)
        loop = [_Training([layer], targets, train) for layer in every]
        together = _Training(every, targets, train)

        def one_by_one() -> None:
            for training in loop:
                training.run(STEPS)

        faster = ratio(one_by_one, lambda: together.run(STEPS), rounds=8 if quick else 25)
        most = max(EPOCHS * together.steps_a_pass, loop[0].done, together.done)
        for training in (*loop, together):
            training.run(most - training.done)
        alone = np.array([_scores(training.probe, targets, scored)[0] for training in loop])
        scores = _scores(together.probe, targets, scored)
        apart = float(np.abs(scores - alone).max())
    also = {
        "layers": len(every),
        "micro_f1": round(float(scores[-1]), 3),
        "loop_micro_f1": round(float(alone[-1]), 3),
        "largest_difference": round(apart, 4),
    }
    return Result("layers", faster, GOAL, at_least=True, also=also, also_holds=apart <= LIKE)


def _targets(folder: Path) -> SpanTargets:
    model = load_model("embedded", device="cpu")
    texts = read_span_texts([Path(sample_treebank())], [TASK], 0, Counter())
    segments = span_segments(texts, model.tokenizer, max_tokens=128, left_out=Counter())
    store = keep_inputs(
        model,
        segments,
        (),
        corpora={},
        settings={},
        out=folder,
        level="tokens",
        maps=False,
        hidden_states=True,
        batch_tokens=4096,
        stack=model.default_stack,
        progress=False,
    )
    targets = [segment.targets[TASK] for segment in segments]
    labels = labels_of((target for some in targets for target in some), None)
    return SpanTargets(store, range(len(segments)), targets, labels, torch.device("cpu"))


class _Training:
    """A training that can be run in pieces."""

    def __init__(self, lasts: Sequence[int], targets: SpanTargets, places: list[int]) -> None:
        states = targets.store.index.states
        self.probe = EdgeProbe(lasts, states, targets.labels, spans=targets.spans, width=WIDTH, seeds=[0])
        self.done = 0
        self._optimizer = torch.optim.Adam(self.probe.parameter_groups(), fused=True)
        self.steps_a_pass = len(targets.plan(places, "states", BATCH))
        dice = np.random.default_rng(0)
        plans = (targets.plan(places, "states", BATCH, dice) for _ in count())
        self._batches = (targets.batch(some, "states") for plan in plans for some in plan)

    def run(self, steps: int) -> None:
        """Make so many more steps."""
        for _ in range(steps):
            losses, counts = self.probe.losses(next(self._batches))
            self._optimizer.zero_grad()
            (losses / counts).sum().backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()
        self.done += max(0, steps)


def _scores(probe: SpanProbe, targets: SpanTargets, places: list[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return score_spans(probe, targets, places).micro_f1()
