"""Where in the stack something is known: measures of mixing weights and of cumulative scores (Tenney et al. 2019).

Layers are the last dimension of every array, from 0, the embeddings' output. Differential scores may be negative: a
probe that sees one more layer may do worse. The expected layer is the published one, with negative differentials as
they are; where they do not add up to a gain it does not exist (NaN). Clipped, negative ones count as 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def centre_of_gravity(weights: Floats) -> Floats:
    """Mean layer under the mixing weights: [...]."""
    return weights @ np.arange(weights.shape[-1])


def divergence_from_uniform(weights: Floats) -> Floats:
    """KL divergence of the weights from equal ones, nats: [...]."""
    sizes = weights.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(weights > 0, weights * np.log(weights * sizes), 0.0)
    return np.asarray(terms.sum(-1))


def differentials(cumulative: Floats) -> Floats:
    """What each layer from 1 on adds to the score: [..., L]."""
    return np.diff(cumulative, axis=-1)


def expected_layer(cumulative: Floats, clip: bool = False) -> Floats:
    """Mean layer from 1 on, each weighing what it adds to the score: [...]; NaN where nothing is gained."""
    gains = differentials(cumulative)
    if clip:
        gains = gains.clip(min=0)
    total = gains.sum(-1)
    layers = np.arange(1, cumulative.shape[-1])
    return (gains @ layers) / np.where(total > 0, total, np.nan)


def share_below(first: Floats, second: Floats) -> tuple[float, int]:
    """Share of replicates in which the first value lies below the second, ties half; and of how many both exist."""
    both = ~np.isnan(first) & ~np.isnan(second)
    count = int(both.sum())
    if not count:
        return float("nan"), 0
    below, ties = (first < second)[both].mean(), (first == second)[both].mean()
    return float(below + ties / 2), count
