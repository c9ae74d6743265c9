"""Statistics that commands other than `survey` and `compare` print, simulated where the truth is known.

Probes are scored on texts they have not seen, trained on resampled texts, or both; keyphrases compare one way of
finding phrases with others; `ablate` divides BLEU among texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU

from benchmarks.calibration_row import Row, error_rows
from headatlas.commands.ablate.tasks.translation import scorer
from headatlas.commands.layers.jobs import Drawn, spreads_of
from headatlas.commands.layers.order import SETTLED, order_rows
from headatlas.probes.attachment import bootstrap_weights, share_interval
from headatlas.statistics.layer_measures import student
from headatlas.statistics.paired import jackknife_shares, paired_changes, shares_beside, simultaneous_leads

Floats = NDArray[np.float64]
REPLICATES = 1000
TASKS = 4
RIVALS = 8
MOST_ORDER = 4  # of n-grams


def command_rows(rng: np.random.Generator, runs: int) -> Iterator[Row]:
    """Rows of the table; runs: how many data sets to draw where that is cheap, a fifth elsewhere."""
    for documents in (8, 20, 60):
        yield _attachment(rng, documents, runs)
    for trainings in (3, 5):
        yield from _orders(rng, trainings, runs)
    for documents in (30, 100):
        yield from _leads(rng, documents, runs // 5)
    for texts in (32, 64):
        yield from _bleu(rng, texts, runs // 5)


def _attachment(rng: np.random.Generator, documents: int, runs: int) -> Row:
    """Heads that a probe finds, in sentences of 5 to 25 words; documents differ."""
    truth, spread, of_document = 0.8, 20.0, 8
    held = 0
    for run in range(runs):
        chances = rng.beta(truth * spread, (1 - truth) * spread, size=documents).repeat(of_document)
        words = rng.integers(5, 26, size=len(chances))
        ids = [f"{run}.{number // of_document}.{number % of_document}" for number in range(len(chances))]
        right = rng.binomial(words, chances).astype(np.float64)
        low, high = share_interval(right, words.astype(np.float64), bootstrap_weights(ids, REPLICATES, 0))
        held += low <= truth <= high
    setting = f"{documents} documents of {of_document} sentences, correlation {1 / (1 + spread):.2f}"
    few = documents < 20
    return Row("`probe`: attachment score", setting, 0.95, held / runs, runs, warned=few)


def _orders(rng: np.random.Generator, trainings: int, runs: int) -> Iterator[Row]:
    """Tasks of one truth, each learnt from 100 texts, resampled for every training, and scored on 100 others."""
    measures = ("centre_of_gravity", "expected_layer")
    held, settled = np.zeros(2), np.zeros(2)
    for _ in range(runs):
        summaries = [_layer_summary(rng, f"task {number}", trainings) for number in range(TASKS)]
        for row, drawn in summaries:
            for place, name in enumerate(measures):
                low, high, _ = student(row[name], *spreads_of(drawn[name]))
                held[place] += bool(low <= 0 <= high)
        compared = order_rows(summaries)
        for place, name in enumerate(measures):
            settled[place] += any(row["settled"] for row in compared if row["measure"] == name)
    for place, name in enumerate(measures):
        words, setting = name.replace("_", " "), f"{trainings} trainings on 100 texts"
        yield Row(f"`layers`: {words}", setting, 0.95, held[place] / runs / TASKS, runs * TASKS)
        what = f"`layers`: any order of {TASKS} tasks by {words}"
        yield Row(what, setting, SETTLED, settled[place] / runs, runs)


def _layer_summary(rng: np.random.Generator, task: str, trainings: int) -> tuple[dict[str, Any], dict[str, Drawn]]:
    texts, of_training = 100, 0.05
    learnt, scored = rng.normal(size=texts), rng.normal(size=texts) / 2
    weights = rng.poisson(1, size=(trainings, texts))
    values = weights @ learnt / weights.sum(1) + of_training * rng.normal(size=trainings)
    drawn = rng.poisson(1, size=(200, texts))
    replicates = values.mean() + drawn @ scored / drawn.sum(1)
    drawings = {
        "centre_of_gravity": Drawn(values.tolist(), [], texts, rng.normal(size=trainings).tolist()),
        "expected_layer": Drawn((values + scored.mean()).tolist(), replicates.tolist(), texts, []),
    }
    row = {"task": task, "mix": "layers", "seeds": trainings, "lead_low": 1.0, "train_targets": texts, "updates": 1}
    return row | {name: float(np.mean(each.trainings)) for name, each in drawings.items()}, drawings


def _leads(rng: np.random.Generator, documents: int, runs: int) -> Iterator[Row]:
    """F1 of nine equally good ways to find phrases: a third of the documents gives 0, the others ten phrases each."""
    ids = [f"0.{number}" for number in range(documents)]
    p_values, held = [], []
    for run in range(runs):
        chances = np.where(rng.random((documents, 1)) < 1 / 3, 0, rng.beta(4, 6, size=(documents, 1)))
        f1 = rng.binomial(10, np.broadcast_to(chances, (documents, 1 + RIVALS))) / 10
        leads = simultaneous_leads(f1[:, :1] - f1[:, 1:], ids, seed=run, resamplings=REPLICATES)
        p_values.append(leads.p_value.min())
        held.append(bool(np.all((leads.low <= 0) & (leads.high >= 0))))
    setting = f"{documents} documents, {RIVALS} rivals"
    yield from error_rows("`keyphrases`: any lead significant", setting, p_values)
    yield Row("`keyphrases`: all intervals of leads", setting, 0.95, float(np.mean(held)), runs)


def _bleu(rng: np.random.Generator, texts: int, runs: int) -> Iterator[Row]:
    """Translations of which each of 48 heads changes a tenth to nine tenths, to others that are as good."""
    heads = 48
    score = scorer(BLEU(max_ngram_order=MOST_ORDER))
    ids = [f"0.{number}" for number in range(texts)]
    p_values = []
    for run in range(runs):
        quality, length = rng.beta(6, 4, size=texts), rng.integers(6, 20, size=texts)
        plain = _counts(rng, quality, length)
        other = np.stack([_counts(rng, quality, length) for _ in range(heads)], 1)
        changed = rng.random((texts, heads)) < rng.uniform(0.1, 0.9, size=heads)
        without = np.where(changed[..., None], other, plain[:, None])
        changes = shares_beside(without, plain, score) - jackknife_shares(plain, score)[:, None]
        p_values.append(paired_changes(changes, ids, seed=run, resamplings=REPLICATES).p_value.min())
    setting = f"{texts} texts, {heads} heads that change 10 to 90 % of them"
    yield from error_rows("`ablate`: any change of BLEU significant", setting, p_values)


def _counts(rng: np.random.Generator, quality: Floats, length: NDArray[np.int64]) -> Floats:
    """BLEU's counts of texts: their length, the reference's, n-grams right, n-grams in all: [texts, 10]."""
    written = np.maximum(length + rng.integers(-2, 3, size=len(length)), MOST_ORDER)
    total = written[:, None] - np.arange(MOST_ORDER)
    right = np.empty_like(total)
    right[:, 0] = rng.binomial(total[:, 0], quality)
    for order in range(1, MOST_ORDER):
        right[:, order] = rng.binomial(np.maximum(right[:, order - 1] - 1, 0), quality)
    return np.hstack([written[:, None], length[:, None], right, total]).astype(np.float64)
