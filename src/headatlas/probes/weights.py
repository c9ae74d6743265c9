"""Which heads does an attention probe use? What it multiplies each head's attention by, and what that does.

``weight`` is the mean coefficient over the pairs of words that are true arcs. ``contribution`` is what the head adds to
a true arc's score beyond what it adds, on average, to the dependent's other candidate words: heads with the same
attention everywhere contribute nothing, however large their weight. Sentences of one word have no pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from headatlas.probes.attention import AttentionParser, both_directions
from headatlas.probes.batches import Sentences


@dataclass(frozen=True)
class HeadUse:
    """For every head in both directions, dependent to head first: [2, A] each."""

    weight: NDArray[np.float64]
    contribution: NDArray[np.float64]


def head_use(parser: AttentionParser, sentences: Sentences, places: Sequence[int], most: int = 16) -> HeadUse:
    """Averages over all true arcs between words."""
    weight = np.zeros(2 * parser.heads)
    contribution = np.zeros(2 * parser.heads)
    arcs = 0
    with torch.no_grad():
        for batch in sentences.batches(places, parser.reads, most):
            if batch.maps is None:
                raise ValueError("an attention probe needs maps")
            words = batch.mask.shape[1]
            row, dependent = torch.nonzero(batch.mask & (batch.targets < words), as_tuple=True)
            head = batch.targets[row, dependent]
            pairs = both_directions(batch.maps)
            coefficients = parser.coefficients(batch).expand_as(pairs)
            added = coefficients * pairs  # [B, W, W, 2A]
            true = added[row, dependent, head]  # [N, 2A]
            itself = added[row, dependent, dependent]
            others = (batch.sizes[row] - 2)[:, None]  # neither the word itself nor its head; padding adds 0
            rest = (added[row, dependent].sum(1) - true - itself) / others.clamp_min(1)
            weight += coefficients[row, dependent, head].double().sum(0).cpu().numpy()
            contribution += (true - torch.where(others > 0, rest, true)).double().sum(0).cpu().numpy()
            arcs += len(row)
    both = (weight / max(1, arcs), contribution / max(1, arcs))
    return HeadUse(*(numbers.reshape(2, parser.heads) for numbers in both))
