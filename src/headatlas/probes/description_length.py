"""How many bits do the trees take, given what the probe reads? Online coding after Voita and Titov (2020).

The training sentences, in random order, are sent in portions that end at 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.25, 12.5, 25,
50 and 100 %. The first portion is sent with the uniform code: log2 of the number of candidates for each word. Each
later one is sent by the probability that a probe trained on all portions before it gives the true heads. A good
score on few examples, not only on all, makes the code short. Portions too small to train a probe on join the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headatlas.probes.attachment import predict
from headatlas.probes.attention import Parser
from headatlas.probes.batches import Sentences
from headatlas.probes.training import FEWEST_SENTENCES, TrainingSettings, fit, hold_out

ENDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class DescriptionLength:
    """The length of the code, beside that of the uniform code."""

    bits: float
    uniform_bits: float


def portions(count: int) -> list[int]:
    """Where each portion of so many sentences ends; the first can train a probe."""
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
    order = np.random.default_rng([seed, 3]).permutation(len(sentences)).tolist()
    ends = portions(len(order))
    uniform = sentences.sizes * np.log2(sentences.sizes)  # the other words and ROOT are as many as the words
    bits = float(uniform[order[: ends[0]]].sum())
    for start, end in pairwise(ends):
        train, held_out = hold_out(start, seed)
        parser, _ = fit(
            make,
            sentences,
            [order[place] for place in train],
            [order[place] for place in held_out],
            settings,
            seed,
            tick=tick,
        )
        bits += float(predict(parser, sentences, order[start:end], trees=False, tick=tick).bits.sum())
    return DescriptionLength(bits, float(uniform.sum()))
