"""How many bits do the answers take, given what the probe reads? Online coding after Voita and Titov (2020).

The training sentences, in random order, are sent in portions that end at 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.25, 12.5, 25,
50 and 100 %. The first portion is sent with the uniform code: log2 of the number of candidates for each word. Each
later one is sent by the probability that a probe trained on all portions before it gives the true heads. A good
score on few examples, not only on all, makes the code short. Portions too small to train a probe on join the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headatlas.probes.attachment import predict
from headatlas.probes.attention import Parser
from headatlas.probes.batches import Sentences
from headatlas.probes.probe import Examples
from headatlas.probes.training import FEWEST_SENTENCES, Network, TrainingSettings, fit, hold_out

ENDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)

Cost = TypeVar("Cost", float, NDArray[np.float64])


@dataclass(frozen=True)
class DescriptionLength:
    """The length of the code, beside that of the uniform code."""

    bits: float
    uniform_bits: float


def portions(count: int) -> list[int]:
    """Where each portion of `count` examples ends; the first is large enough to train a probe."""
    ends = sorted({round(end * count) for end in ENDS if round(end * count) >= FEWEST_SENTENCES})
    return ends or [count]


def description_length(
    make: Callable[[], Parser],
    sentences: Sentences,
    settings: TrainingSettings,
    seed: int,
    *,
    tick: Callable[[], None] = lambda: None,
) -> DescriptionLength:
    """Send all sentences' heads. make: begins an untrained parser."""
    uniform = sentences.sizes * np.log2(sentences.sizes)  # the other words and ROOT are as many as the words

    def cost(parser: Parser, places: Sequence[int]) -> float:
        return float(predict(parser, sentences, places, trees=False, tick=tick).bits.sum())

    bits = online_code(make, sentences, uniform, cost, settings, seed, tick=tick)
    return DescriptionLength(float(bits), float(uniform.sum()))


def online_code(
    make: Callable[[], Network],
    examples: Examples[Any],
    uniform: NDArray[Any],
    cost: Callable[[Network, Sequence[int]], Cost],
    settings: TrainingSettings,
    seed: int,
    *,
    tick: Callable[[], None] = lambda: None,
) -> Cost:
    """Bits that all examples' answers take, of one probe or of several side by side.

    uniform: of each example. cost: what a trained probe spends on the examples at these places.
    """
    order = np.random.default_rng([seed, 3]).permutation(len(uniform)).tolist()
    ends = portions(len(order))
    bits: Any = uniform[order[: ends[0]]].sum()
    for start, end in pairwise(ends):
        train, held_out = ([order[place] for place in part] for part in hold_out(start, seed))
        probe, _ = fit(make, examples, train, held_out, settings, seed, tick=tick)
        bits = bits + cost(probe, order[start:end])
    return bits  # type: ignore[no-any-return]
