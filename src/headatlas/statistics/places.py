"""Where do chosen heads stand among the heads of their layers?

The place of a head is 1 if no other head of its layer has as large a value; ties count against it. If the choice has
nothing to do with the values, every place is equally likely. So place / heads is a p value of its own. It cannot lie
below 1 / heads: one choice shows little, many choices together can. Their test shuffles the heads within each layer,
the same for all choices, because choices of one head, and values of one layer, depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headatlas.statistics.resampling import percentile_interval, permutation_p_value

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    """A head of a layer, and the values of all heads of that layer."""

    layer: int
    head: int  # from 0
    values: Floats  # [H]

    @property
    def places(self) -> NDArray[np.int64]:
        """The place of every head, from 1: [H]."""
        return np.asarray((self.values[None, :] >= self.values[:, None]).sum(1), dtype=np.int64)

    @property
    def p_value(self) -> float:
        """How likely the head's place, or a better one, is for a head drawn from the layer."""
        return float(self.places[self.head] / len(self.values))


@dataclass(frozen=True)
class JointPlaces:
    """The places of several choices together, each as a share of its layer's heads."""

    mean: float
    expected: float  # of heads drawn at random
    low: float  # ends of the middle 95 % of means with shuffled heads
    high: float
    p_value: float  # of a mean as small, heads shuffled within layers
    smallest: float  # p value that so many choices could reach at best


def joint_places(choices: Sequence[Choice], *, seed: int, permutations: int) -> JointPlaces:
    """Test whether chosen heads stand further in front than heads drawn from the same layers."""
    shares = [choice.places / len(choice.values) for choice in choices]
    sizes = {choice.layer: len(choice.values) for choice in choices}
    distinct = {(choice.layer, choice.head) for choice in choices}
    arrangements = math.prod(
        math.perm(size, sum(place[0] == layer for place in distinct)) for layer, size in sizes.items()
    )
    rng = np.random.default_rng([seed, 11])
    shuffled = np.zeros(permutations)
    orders = {layer: rng.permuted(np.tile(np.arange(size), (permutations, 1)), axis=1) for layer, size in sizes.items()}
    for choice, share in zip(choices, shares, strict=True):
        shuffled += share[orders[choice.layer][:, choice.head]]
    total = sum(float(share[choice.head]) for choice, share in zip(choices, shares, strict=True))
    p_value = permutation_p_value(-total - 1e-9, -shuffled)
    expected = float(np.mean([share.mean() for share in shares]))
    low, high = percentile_interval(shuffled / len(choices))
    smallest = max(1 / arrangements, 1 / (1 + permutations))
    return JointPlaces(total / len(choices), expected, float(low), float(high), p_value, smallest)
