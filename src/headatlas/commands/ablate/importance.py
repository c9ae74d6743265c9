"""How important is each head? I_h = E_x |dL(x) / d xi_h|, where xi_h scales the head's output (Michel et al. 2019).

The absolute value is each example's own, taken before the mean, and all heads come from one backward pass per batch. As
an option of the reader, `normalised` divides a layer's values by their l2 norm, as the paper does after Molchanov et
al. (2017), since layers differ in the scale of their gradients.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from headatlas.commands.ablate.passes import Floats
from headatlas.commands.ablate.task import ExampleBatch, Task
from headatlas.engine.run_folder import UNSAVED, Arrays, RunPart
from headatlas.models.gates import Gates
from headatlas.models.stacks import HeadShape, Stack
from headatlas.progress import Stage
from headatlas.statistics.paired import bootstrap_means
from headatlas.statistics.resampling import fold_of


def gate_gradients(task: Task, examples: ExampleBatch, stack: Stack) -> Floats:
    """Derivative of each example's own loss to each head's gate: [E, L, H]."""
    shape = task.model.shapes[stack]
    gates = torch.ones(len(examples), shape.layers, shape.most_heads, device=task.model.device, requires_grad=True)
    with torch.enable_grad(), task.removing(Gates(gates[examples.rows], None, shape), stack):
        (gradients,) = torch.autograd.grad(task.losses(examples).sum(), gates)
    of_gates: Floats = gradients.double().cpu().numpy()
    return of_gates


def batch_importance(task: Task, number: int, stack: Stack, pieces: RunPart = UNSAVED) -> Floats:
    """|dL(x) / d xi_h| of every example of one batch: [E, L, H]."""

    def make() -> Arrays:
        return {"importance": np.abs(gate_gradients(task, task.batches[number].to(task.model.device), stack))}

    return pieces.compute_once(f"importance-{number:05}", make)["importance"]


def example_importance(task: Task, stack: Stack, bar: Stage | None = None) -> Floats:
    """|dL(x) / d xi_h| of every example and head: [E, L, H]."""
    parts = []
    for number, batch in enumerate(task.batches):
        parts.append(batch_importance(task, number, stack))
        if bar:
            bar.advance(batch.size)
    return np.concatenate(parts)


def normalised(values: Floats) -> Floats:
    """Each layer's values over their l2 norm: [..., L, H]."""
    norm = np.sqrt(np.square(values).sum(-1, keepdims=True))
    scaled: Floats = np.divide(values, norm, out=np.zeros_like(values), where=norm > 0)
    return scaled


def halves_of(task: Task, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The half, 0 or 1, of the data that each example belongs to; a unit of resampling is never divided."""
    return np.array([fold_of(unit, seed) for unit in task.units.of_examples])


def importance_table(task: Task, importance: Floats, shape: HeadShape, *, seed: int, resamplings: int) -> pd.DataFrame:
    """One row per head: task, layer, head, value, low, high, normalised, first_half, second_half, count."""
    half = halves_of(task, seed)
    flat = importance.reshape(len(importance), -1)
    low, high = bootstrap_means(flat, task.ids, seed=seed, resamplings=resamplings, units=task.units.of_examples)
    values = importance.mean(0)
    frame = pd.DataFrame(
        {
            "task": task.title,
            "layer": np.repeat(np.arange(shape.layers), shape.most_heads) + 1,
            "head": np.tile(np.arange(shape.most_heads), shape.layers) + 1,
            "value": values.ravel(),
            "low": low,
            "high": high,
            "normalised": normalised(values).ravel(),
            "first_half": _mean(flat[half == 0]),
            "second_half": _mean(flat[half == 1]),
            "count": len(importance),
        }
    )
    exists = [head <= shape.heads[layer - 1] for layer, head in zip(frame["layer"], frame["head"], strict=True)]
    return frame[exists].reset_index(drop=True)


def _mean(values: Floats) -> Floats:
    mean: Floats = values.mean(0) if len(values) else np.full(values.shape[1], np.nan)
    return mean
