"""Removing each head alone against as many whole forward passes, for every task that is replayed; and importance.

Not every task can reach the goal. Above the layer of the removed head every layer must run anew, for every token that a
score or a later layer reads, and a language model's head for every token that is scored. `least` says what share of a
pass's multiplications that makes, with everything else free.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

from benchmarks.measuring import Result, base_size, random_batch, ratio
from headatlas.commands.ablate.importance import example_importance
from headatlas.commands.ablate.passes import HeadPlace, HeadRemoval, Replaying, find_replacement, gated_scores
from headatlas.commands.ablate.task import Task
from headatlas.commands.ablate.tasks.classification import Classification, LinearHead
from headatlas.commands.ablate.tasks.minimal_pairs import MinimalPairs
from headatlas.commands.ablate.tasks.probe import ProbeParsing
from headatlas.commands.ablate.tasks.token_prediction import MaskedLM, NextToken
from headatlas.corpora.labelled import LabelledText
from headatlas.corpora.minimal_pairs import MinimalPair
from headatlas.corpora.sample import sample_corpora
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.encoding.word_segments import parsed_segments
from headatlas.models.gates import gates_without
from headatlas.models.model import Model
from headatlas.models.observing import observe_network
from headatlas.models.replay import outermost_listed, token_matrices
from headatlas.probes.attention import AttentionProbe

GOAL, IMPORTANCE_GOAL = 0.5, 3.5
NARROW = {"hidden_size": 384, "intermediate_size": 1536}
TOKENS = 1024  # of the copies of a batch that run together


def measure(quick: bool) -> Result:
    """Removed are all heads; with `quick` four of every layer of a masked language model that is half as wide."""
    model = base_size(**NARROW) if quick else base_size()
    tasks = masked_tasks(model, 1 if quick else 2)
    if not quick:
        tasks |= causal_tasks(model, 2)
    ratios = {name: _ratio_to_bare(task, _some_heads(task, quick)) for name, task in tasks.items()}
    task = tasks["masked-lm"]
    importance = ratio(lambda: example_importance(task, "encoder"), _bare(task), 9)
    also = {
        "ratios": {name: round(value, 3) for name, value in ratios.items()},
        "least": {name: round(_least(task), 3) for name, task in tasks.items()},
        "importance_ratio": round(importance, 3),
        "importance_goal": IMPORTANCE_GOAL,
    }
    if not quick:
        also["own_passes_ratio"] = round(_ratio_to_own(task, _some_heads(task, True)), 3)
    return Result("ablation", max(ratios.values()), GOAL, also_holds=importance <= IMPORTANCE_GOAL, also=also)


def masked_tasks(model: Model, rows: int) -> dict[str, Task]:
    """The tasks of a masked language model, each with one batch of about the same size."""
    segments = random_batch(model, rows, 128).segments
    trees = list(read_treebank([sample_corpora()["treebank"]]))[: 12 * rows]
    parsed = parsed_segments(trees, model.tokenizer, max_tokens=64)
    probe = AttentionProbe(model.shapes["encoder"].total)
    pairs = _pairs()[:rows]
    return {
        "masked-lm": MaskedLM(model, segments, batch_tokens=rows * 128, seed=0),
        "minimal-pairs": MinimalPairs(model, pairs, max_tokens=64, batch_tokens=10**6),
        "classification": _classification(model, rows),
        "probe": ProbeParsing(model, parsed.segments, parsed.relations, ("punct",), probe, batch_tokens=10**6),
    }


def causal_tasks(masked: Model, rows: int) -> dict[str, Task]:
    """The tasks of a causal language model of the same size."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = GPT2LMHeadModel(GPT2Config(vocab_size=len(masked.tokenizer), bos_token_id=101, eos_token_id=102))
    model = observe_network(network, masked.tokenizer, name="causal", language_model="causal")
    segments = random_batch(model, rows, 128).segments
    return {
        "next-token": NextToken(model, segments, batch_tokens=rows * 128, seed=0),
        "minimal-pairs, causal": MinimalPairs(model, _pairs()[: 8 * rows], max_tokens=64, batch_tokens=10**6),
    }


def _classification(model: Model, rows: int) -> Classification:
    rng = np.random.default_rng(0)
    words = ["river", "engine", "small", "the", "report", "of", "old", "trees"]
    texts = [
        LabelledText(str(number), Path("texts"), number, (" ".join(rng.choice(words, 30)),), "ab"[number % 2])
        for number in range(8 * rows)
    ]
    head = LinearHead(("a", "b"), torch.randn(model.width, 2), torch.zeros(2), "mean")
    return Classification(model, texts, max_tokens=64, batch_tokens=10**6, head=head)


def _pairs() -> list[MinimalPair]:
    nouns = ("key", "dog", "teacher", "picture", "house", "report", "river", "engine")
    return [
        MinimalPair(
            f"agreement.{number}", f"the {noun} near the old trees is red", f"the {noun} near the old trees are red"
        )
        for number, noun in enumerate(nouns * 2)
    ]


def _some_heads(task: Task, few: bool) -> list[HeadPlace]:
    places = task.model.shapes[task.model.default_stack].places
    return [(layer, head) for layer, head in places if head < 4 or not few]


def _network(task: Task) -> Any:
    """What a pass of the task runs: no head for words where it needs none."""
    network = task.model.network
    return network if isinstance(task, MaskedLM | NextToken | MinimalPairs) else network.base_model


def _bare(task: Task) -> Callable[[], object]:
    """The plain forward pass over the task's batches, with transformers' eager attention."""
    network = copy.deepcopy(_network(task)).eval()
    network.set_attn_implementation("eager")

    def run() -> None:
        with torch.inference_mode():
            for batch in task.batches:
                network(**batch.inputs)

    return run


def _ratio_to_bare(task: Task, heads: Sequence[HeadPlace]) -> float:
    stack = task.model.default_stack
    nothing, bare = find_replacement(task, "zero", stack, 0), _bare(task)
    checked = Replaying()  # a run makes the check of the first batch once, here before the clock starts

    def removed() -> None:
        HeadRemoval(task, stack, nothing, TOKENS, checked).scores(heads)

    return ratio(removed, _times(len(heads), bare), 1)


def _least(task: Task) -> float:
    """The multiplications that removing a head calls for, over those of a pass; the mean over all heads."""
    model, (batch, *_) = task.model, task.batches
    read, real = task.tokens_read(batch), batch.inputs["attention_mask"].sum()
    share = 1.0 if read is None else float(read.sum() / real)
    layers = outermost_listed(model.network)
    whole, square = _multiplications(layers[0]), model.width**2
    on_top = _multiplications(_network(task)) - whole * len(layers)
    feed_forward = whole - 4 * square
    narrowed = 2 * square + share * (whole - 2 * square)  # keys and values of all tokens, the rest where it is read
    own = square / model.shapes[model.default_stack].most_heads + feed_forward  # the part of the output projection
    after = [own + whole * (len(layers) - 2 - number) + narrowed for number in range(len(layers) - 1)]
    return (float(np.mean([*after, share * own])) + share * on_top) / (whole * len(layers) + on_top)


def _multiplications(module: nn.Module) -> int:
    """Of one token by the matrices of a module."""
    return sum(matrix.weight.numel() for matrix in token_matrices(module))


def _ratio_to_own(task: Task, heads: Sequence[HeadPlace]) -> float:
    """Over computing the same scores in whole passes."""
    shape, model = task.model.shapes["encoder"], task.model
    nothing = find_replacement(task, "zero", "encoder", 0)

    def own_passes() -> None:
        for layer, head in heads:
            gates = gates_without([(layer + 1, head + 1)], shape, model.name, model.device)
            gated_scores(task, [gates], "encoder", nothing)

    return ratio(lambda: HeadRemoval(task, "encoder", nothing, TOKENS).scores(heads), own_passes, 1)


def _times(count: int, function: Callable[[], object]) -> Callable[[], object]:
    def run() -> None:
        for _ in range(count):
            function()

    return run
