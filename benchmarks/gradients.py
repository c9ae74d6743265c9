"""The gradient study (figure 3) against the bare forward pass of the same masked language model."""

from __future__ import annotations

import copy

from benchmarks.measuring import Result, bare_forward, base_size, observed_pass, random_batch, ratio

GOAL = 4.0


def measure(quick: bool) -> Result:
    """Loss, backward pass and sums over the forward pass, head included in both."""
    model = base_size()
    twin = copy.deepcopy(model.network)
    twin.set_attn_implementation("eager")
    batch = random_batch(model, 8, 128)
    studied, bare = observed_pass(model, batch, ["gradients"]), bare_forward(twin, batch)
    return Result("gradients", ratio(studied, bare, rounds=3 if quick else 15), GOAL)
