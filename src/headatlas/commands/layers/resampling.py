"""What varies: the texts that are trained on, the texts that are scored, and the labels of the null.

Every training has its own first weights and its own bootstrap sample of the training texts; a single one takes them as
they are. Documents are resampled where there are at least 20, otherwise texts. What is drawn for a text depends on its
id alone, so tasks on the same texts are resampled alike and compared in pairs.

The null has the same targets with labels that are permuted over their places, in training and in scoring, and is
trained in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.commands.layers.options import LayerOptions
from headatlas.probes.span_batches import SpanTargets
from headatlas.statistics.resampling import FEWEST_DOCUMENTS, poisson_weights

Floats = NDArray[np.float64]


def units_of(ids: Sequence[str]) -> list[str]:
    """What each text is resampled with: its document, or itself if there are few documents. ids: of texts."""
    documents = [name.rpartition(".")[0] for name in ids]
    return documents if len(set(documents)) >= FEWEST_DOCUMENTS else list(ids)


def training_weights(ids: Sequence[str], options: LayerOptions) -> NDArray[np.float32]:
    """How often each training counts each text: [T, S]."""
    if options.seeds == 1:
        return np.ones((1, len(ids)), dtype=np.float32)
    return _drawn([f"train {unit}" for unit in units_of(ids)], options.seeds, options.seed).T.astype(np.float32)


@dataclass(frozen=True)
class ScoredTexts:
    """The bootstrap over the texts that are scored."""

    weights: Floats  # [S, R]
    units: int


def scored_texts(ids: Sequence[str], options: LayerOptions) -> ScoredTexts:
    """Resample the texts that are scored."""
    units = units_of(ids)
    return ScoredTexts(_drawn(units, options.bootstrap, options.seed).astype(np.float64), len(set(units)))


def _drawn(units: Sequence[str], replicates: int, seed: int) -> NDArray[np.uint8]:
    """Weights of texts, the same for all texts of a unit: [S, R]."""
    different = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    return poisson_weights(list(different), replicates, seed)[[different[unit] for unit in units]]


def shuffled_answers(targets: SpanTargets, seeds: Sequence[int]) -> list[NDArray[np.int64]]:
    """The answers of all targets, permuted over their places for each seed: of each text [T, n] or [T, n, C]."""
    pool = np.concatenate(targets.answers)
    permuted = np.stack([pool[np.random.default_rng([seed, 5]).permutation(len(pool))] for seed in seeds])
    return np.split(permuted, np.cumsum(targets.counts)[:-1], axis=1)
