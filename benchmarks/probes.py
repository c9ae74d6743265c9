"""Training the attention-and-words probe in batches against a loop of one sentence a step, at equal or better UAS."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.measuring import Result, ratio
from headatlas.commands.extract.options import extract
from headatlas.corpora.sample import sample_treebank
from headatlas.corpora.treebanks.label_sets import UNIVERSAL
from headatlas.models.loading import load_model
from headatlas.probes.attachment import attach, predict
from headatlas.probes.attention import AttentionWordsProbe, Parser
from headatlas.probes.batches import ProbeBatch, Sentences
from headatlas.probes.vectors import WordVectors

GOAL = 10.0
WIDTH = 50
EVERY = 5  # each fifth sentence is scored on
QUICK_SENTENCES = 300
EPOCHS = 5
BATCH = 32
STEP = 3 * BATCH  # sentences between two looks at the clock
LOOP_RATE = 2e-3


class PairsProbe(Parser):
    """The same probe as a notebook has it: the vectors of both words joined for every pair, a sentence at a time."""

    reads = "maps"
    learning_rate = LOOP_RATE

    def __init__(self, heads: int, vectors: Tensor) -> None:
        super().__init__()
        self.vectors = vectors
        self.weights = nn.ModuleList(nn.Linear(2 * vectors.shape[1], heads, bias=False) for _ in range(2))
        self.root = nn.Parameter(torch.zeros(4, heads))

    def scores(self, batch: ProbeBatch) -> Tensor:
        """Score of each candidate for each dependent, ROOT last: [1, W, W + 1]."""
        if batch.maps is None or batch.special is None:
            raise ValueError("maps are needed")
        words = self.vectors[batch.words[0]]  # [W, D]
        size = len(words)
        pairs = torch.cat([words[:, None].expand(-1, size, -1), words[None].expand(size, -1, -1)], -1)  # [W, W, 2D]
        both = (batch.maps[0], batch.maps[0].transpose(0, 1))
        parts = [(linear(pairs) * maps).sum(-1) for linear, maps in zip(self.weights, both, strict=True)]
        root = (batch.special[0] * self.root).sum((1, 2))
        return torch.cat([parts[0] + parts[1], root[:, None]], 1)[None]


def measure(quick: bool) -> Result:
    """Time of the loop over that of batches for the same sentences, on the embedded model's maps of the sample."""
    with tempfile.TemporaryDirectory() as folder:
        model = load_model("embedded", device="cpu")
        store = extract(model, treebank=sample_treebank(), out=Path(folder) / "maps", progress=False)
        words = sorted({word for example in store.examples for word in example.words or ()})
        table = np.random.default_rng(0).normal(size=(len(words) + 1, WIDTH)).astype(np.float32)
        vectors = WordVectors(table, {word: row for row, word in enumerate(words)}, {})
        sentences = Sentences(store, vectors, torch.device("cpu"))
        used = QUICK_SENTENCES if quick else len(sentences)
        train = [place for place in range(used) if place % EVERY]
        scored = [place for place in range(used) if place % EVERY == 0]
        for place in range(used):
            sentences.batch([place], "maps")  # read once, for both alike
        heads, frozen = store.shape.total, torch.from_numpy(table)
        torch.manual_seed(0)
        loop = _Training(PairsProbe(heads, frozen), sentences, train, most=1)
        batched = _Training(AttentionWordsProbe(heads, frozen), sentences, train, most=BATCH)
        faster = ratio(lambda: loop.run(STEP), lambda: batched.run(STEP), rounds=5 if quick else 15)
        loop.run(len(train) - loop.done)
        batched.run(EPOCHS * len(train) - batched.done)
        loop_uas, uas = (_uas(training.parser, sentences, scored) for training in (loop, batched))
    also = {"uas": round(uas, 3), "loop_uas": round(loop_uas, 3), "loop_passes": round(loop.done / len(train), 1)}
    return Result("probes", faster, GOAL, at_least=True, also=also, also_holds=uas >= loop_uas)


class _Training:
    """A training that can be run in pieces."""

    def __init__(self, parser: Parser, sentences: Sentences, places: list[int], most: int) -> None:
        self.parser, self.done = parser, 0
        self._optimizer = torch.optim.Adam(parser.parameters(), lr=parser.learning_rate)
        dice = np.random.default_rng(0)
        plans = (sentences.plan(places, "maps", most, dice) for _ in count())
        self._batches = (batch for plan in plans for batch in sentences.batches(plan, "maps"))

    def run(self, sentences: int) -> None:
        """Train on so many more sentences, to the end of a batch."""
        end = self.done + sentences
        while self.done < end:
            batch = next(self._batches)
            found = self.parser.log_probabilities(batch).flatten(0, 1)
            self._optimizer.zero_grad()
            functional.nll_loss(found, batch.targets.flatten()).backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()
            self.done += len(batch.places)


def _uas(parser: Parser, sentences: Sentences, places: list[int]) -> float:
    most = 1 if isinstance(parser, PairsProbe) else BATCH
    found = predict(parser, sentences, places, trees=False, most=most)
    return attach(found, sentences, places, UNIVERSAL.punct).scores()["uas_no_punct"]
