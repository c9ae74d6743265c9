"""What a model predicts at some places of a text, before and after it was changed, and how much each head matters."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import torch
from torch import Tensor

from headatlas.commands.ablate.passes import HeadPlace, HeadRemoval, Replaying, find_replacement
from headatlas.commands.ablate.task import ExampleBatch, Floats, Task
from headatlas.encoding.batches import Batch
from headatlas.errors import ModelError
from headatlas.models.gates import Cuts, Gates, all_open
from headatlas.models.language_model import logits_at
from headatlas.models.model import Model
from headatlas.models.stacks import Stack

MOST_SHOWN = 5
MOST_TOKENS = 4096  # of the copies of a text that run together
MOST_LOGITS = 2**26  # of those copies: 256 MB in float32


def place_log_probabilities(
    model: Model, batch: Batch, places: Sequence[int], changed: AbstractContextManager[None]
) -> Tensor:
    """Return the log distribution over the vocabulary at each place of a single text: [places, V] float64, on the CPU.

    changed: a context in which the model is changed.
    """
    with torch.inference_mode(), changed:
        logits = logits_at(model.network, model.inputs(batch), chosen_tokens(model, batch, places))
    if not torch.isfinite(logits).any(-1).all() or logits.isnan().any():
        raise ModelError(f"{model.name} predicts NaN here. Load it with --dtype float32.")
    return logits.to("cpu", torch.float64).log_softmax(-1)


def chosen_tokens(model: Model, batch: Batch, places: Sequence[int]) -> Tensor:
    """Mark the tokens whose outputs predict the places: a causal model predicts from the token before. [1, T] bool."""
    chosen = torch.zeros_like(batch.mask)
    chosen[0, [place - (model.language_model == "causal") for place in places]] = True
    return chosen


def divergence(before: Tensor, after: Tensor) -> Tensor:
    """Return the Kullback-Leibler divergence of log distributions, in nats: [...] of [..., V]."""
    share = before.exp()
    terms = torch.where(share > 0, share * (before - after), 0)
    return terms.sum(-1).clamp(min=0)  # rounding can make it negative


def describe_predictions(
    model: Model, places: Sequence[int], typed_ids: Sequence[int | None], before: Tensor, after: Tensor
) -> list[dict[str, Any]]:
    """Return the likeliest tokens at each place, the typed token, and the divergence, before and after a change.

    typed_ids: the token of the text at each place, or None. before, after: [places, V].
    """
    changes = divergence(before, after).tolist()
    return [
        {
            "place": place,
            "before": _likeliest(model, first),
            "after": _likeliest(model, second),
            "own": None if token is None else _typed_token(model, token, first.exp(), second.exp()),
            "kl": round(change, 6),
        }
        for place, token, first, second, change in zip(places, typed_ids, before, after, changes, strict=True)
    ]


def _likeliest(model: Model, log_probabilities: Tensor) -> list[list[Any]]:
    """Return tokens with their probabilities and ids, likeliest first."""
    most = log_probabilities.exp().topk(min(MOST_SHOWN, len(log_probabilities)))
    pairs = zip(most.indices.tolist(), most.values.tolist(), strict=True)
    return [[token_name(model, token), round(share, 6), token] for token, share in pairs]


def _typed_token(model: Model, token: int, before: Tensor, after: Tensor) -> dict[str, Any]:
    """Return the typed token with its probability and rank (from 1), before and after."""
    ranks = [int((shares > shares[token]).sum()) + 1 for shares in (before, after)]
    return {
        "token": token_name(model, token),
        "id": token,
        "before": round(float(before[token]), 6),
        "after": round(float(after[token]), 6),
        "rank_before": ranks[0],
        "rank_after": ranks[1],
    }


def token_name(model: Model, token: int) -> str:
    """Return the name of a token; padding of the vocabulary has none."""
    return str(model.tokenizer.convert_ids_to_tokens(token) or f"token {token}")


class TypedText(Task):
    """Predict some tokens of one text."""

    name: ClassVar[str] = "typed-text"
    measures: ClassVar[tuple[str, ...]] = ("log_probability", "kl")
    like_loss: ClassVar[str] = "log_probability"

    def __init__(self, model: Model, batch: Batch, places: Sequence[int], targets: Sequence[int], before: Tensor):
        """targets: the tokens whose mean log probability is followed. before: log distributions of the whole model."""
        chosen = chosen_tokens(model, batch, places)
        rows = torch.zeros(1, dtype=torch.long, device=model.device)
        super().__init__(model, [ExampleBatch(("typed",), model.inputs(batch), rows, {"chosen": chosen})])
        self._targets = torch.tensor(targets, device=model.device)
        self._before = before.to(model.device, torch.float32)

    @property
    def batch_tokens(self) -> int:
        """How many tokens of copies of the text may run together."""
        copies = max(1, MOST_LOGITS // self._before.numel())
        return min(MOST_TOKENS, copies * self.batches[0].size)

    def losses(self, examples: ExampleBatch) -> Tensor:
        return -self.scores(examples)[:, 0]

    def scores(self, examples: ExampleBatch) -> Tensor:
        logits = logits_at(self.model.network, examples.inputs, examples.targets["chosen"])
        after = logits.float().log_softmax(-1).view(len(examples), *self._before.shape)  # [E, places, V]
        followed = after[:, torch.arange(len(self._targets)), self._targets].mean(-1)
        return torch.stack([followed, divergence(self._before, after).mean(-1)], -1)


class CutEach(HeadRemoval):
    """Cuts the same pairs of tokens in each of some heads in turn, in place of removing the head."""

    def __init__(self, task: TypedText, stack: Stack, pairs: Tensor, replaying: Replaying) -> None:
        super().__init__(task, stack, find_replacement(task, "zero", stack, 0), task.batch_tokens, replaying)
        self._pairs = pairs

    def _gates(self, number: int, heads: Sequence[HeadPlace], copies: ExampleBatch) -> Gates:
        gates = all_open(self._shape, copies.rows.device).repeat(len(heads), 1, 1)
        for copy, (layer, head) in enumerate(heads):
            gates[copy, layer, head] = 0
        return Cuts(gates, self._pairs, self._shape)


def head_effects(
    task: TypedText, stack: Stack, heads: Sequence[HeadPlace], pairs: Tensor | None, replaying: Replaying
) -> Floats:
    """Return the mean log probability of the targets and the divergence without each head: [heads, 2].

    pairs: cut these in each head instead of removing it: [T, T] bool.
    """
    passes = (
        HeadRemoval(task, stack, find_replacement(task, "zero", stack, 0), task.batch_tokens, replaying)
        if pairs is None
        else CutEach(task, stack, pairs, replaying)
    )
    _, without = passes.batch_scores(0, heads)
    effects: Floats = without[0].round(6)
    return effects
