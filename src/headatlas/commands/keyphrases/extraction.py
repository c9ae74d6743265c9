"""Keyphrases by attention: the candidates whose words receive most from the chosen heads.

A word's weight is the mean over the heads of what it receives. A candidate's score is the sum over its words, taken at
the place where that is largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.commands.keyphrases.candidates import Candidate
from headatlas.commands.keyphrases.word_weights import Weights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scored:
    """A candidate and its score."""

    candidate: Candidate
    score: float


def combined(weights: Weights, heads: Sequence[int]) -> Floats:
    """What each word receives from the chosen heads on average: [words]. weights: [words, heads]."""
    mean: Floats = weights[:, list(heads)].astype(np.float64).mean(1)
    return mean


def score_candidates(candidates: Sequence[Candidate], weights: Floats) -> list[Scored]:
    """The candidates with their scores, the best first; of equal ones that which stands first."""
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    scored = [Scored(one, float(max(sums[end] - sums[start] for start, end in one.places))) for one in candidates]
    return sorted(scored, key=lambda one: (-one.score, one.candidate.places[0]))
