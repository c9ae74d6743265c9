"""Removing each head alone against as many whole forward passes, and importance against one."""

from __future__ import annotations

import copy
from collections.abc import Callable

from benchmarks.measuring import Result, bare_forward, base_size, random_batch, ratio
from headatlas.commands.ablate.importance import example_importance
from headatlas.commands.ablate.passes import HeadPlace, HeadRemoval, find_replacement, gated_scores
from headatlas.commands.ablate.tasks.token_prediction import MaskedLM
from headatlas.models.gates import gates_without

GOAL, IMPORTANCE_GOAL = 0.6, 3.5
NARROW = {"hidden_size": 384, "intermediate_size": 1536}


def measure(quick: bool) -> Result:
    """Removed: all heads; with `quick` four of every layer, of a network half as wide."""
    model = base_size(**NARROW) if quick else base_size()
    twin = copy.deepcopy(model.network)
    twin.set_attn_implementation("eager")
    batch = random_batch(model, 1 if quick else 2, 128)
    task = MaskedLM(model, batch.segments, batch_tokens=batch.input_ids.numel(), seed=0)
    nothing = find_replacement(task, "zero", "encoder", 0)
    shape = model.shapes["encoder"]
    heads: list[HeadPlace] = [(layer, head) for layer in range(shape.layers) for head in range(4 if quick else 12)]
    bare = bare_forward(twin, batch)

    def removed() -> None:
        HeadRemoval(task, "encoder", nothing, batch.input_ids.numel()).scores(heads)

    def own_passes() -> None:
        for layer, head in heads:
            gates = gates_without([(layer + 1, head + 1)], shape, model.name, model.device)
            gated_scores(task, [gates], "encoder", nothing)

    rounds = 1 if quick else 2
    against_bare = ratio(removed, _times(len(heads), bare), rounds)
    importance = ratio(lambda: example_importance(task, "encoder"), bare, 9)
    also = {"importance_ratio": round(importance, 3), "importance_goal": IMPORTANCE_GOAL, "heads": len(heads)}
    if not quick:
        also["own_passes_ratio"] = round(ratio(removed, own_passes, 1), 3)
    return Result("ablation", against_bare, GOAL, also_holds=importance <= IMPORTANCE_GOAL, also=also)


def _times(count: int, function: Callable[[], object]) -> Callable[[], object]:
    def run() -> None:
        for _ in range(count):
            function()

    return run
