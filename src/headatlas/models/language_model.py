"""The language model head: logits where something is predicted, and losses per segment.

A head maps each token's hidden state to the whole vocabulary, which for a small network costs as much as all its
layers. If 15 % of the tokens are predicted, `logits_at` saves the rest of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from headatlas.encoding.batches import Batch
from headatlas.encoding.masking import IGNORED
from headatlas.models.replay import instead_of_forward
from headatlas.progress import moved

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MOST_LOGITS = 2**25  # numbers held at once while a loss is differentiated: 128 MB in float32


def logits_at(network: PreTrainedModel, inputs: Mapping[str, Any], chosen: Tensor) -> Tensor:
    """Logits of the chosen tokens in reading order: [N, V]. chosen: [B, T] bool, with any true.

    A network whose head does not read the base network's output is run as a whole; the result is the same.
    """

    def narrow(_module: nn.Module, _arguments: Any, outputs: Any) -> Any:
        if "last_hidden_state" not in outputs:
            return None
        outputs["last_hidden_state"] = outputs["last_hidden_state"][chosen][None]  # [1, N, D]
        return outputs

    hook = network.base_model.register_forward_hook(narrow)
    try:
        logits: Tensor = network(**inputs).logits
    finally:
        hook.remove()
    return logits[0] if logits.shape[:2] == (1, int(chosen.sum())) else logits[chosen]


def next_tokens(batch: Batch) -> Tensor:
    """What each token is followed by, IGNORED at the last: [B, T]."""
    labels = torch.full_like(batch.input_ids, IGNORED)
    labels[:, :-1] = batch.input_ids[:, 1:].masked_fill(~batch.mask[:, 1:], IGNORED)
    return labels


def differentiate_loss(
    network: PreTrainedModel, run: Callable[[], Any], inputs: Mapping[str, Any], labels: Tensor, most: int = MOST_LOGITS
) -> None:
    """Propagate the loss of predicting some tokens back through a network that `run` runs on its inputs.

    A segment's loss is the mean over its own tokens, and losses are summed over segments. So the gradient with respect
    to a segment's attention is that of its own loss, whatever else is in the batch. Logits are made of as many tokens
    at once as keep them below `most` numbers, so memory does not grow with tokens times vocabulary.

    labels: [B, T], IGNORED where nothing is predicted.
    """
    chosen = labels != IGNORED
    wanted = labels[chosen]  # [N]
    among = chosen.sum(1)[torch.nonzero(chosen)[:, 0]]  # [N], how many its segment has
    block = max(1, most // network.get_input_embeddings().weight.shape[0])
    kept: list[tuple[Any, Tensor, Tensor]] = []

    def narrow(_module: nn.Module, _arguments: Any, outputs: Any) -> Any:
        if "last_hidden_state" not in outputs:
            return None
        states = outputs["last_hidden_state"][chosen]  # [N, D]
        apart = states.detach().requires_grad_()
        kept.append((outputs, states, apart))
        outputs["last_hidden_state"] = apart[None, :block]
        return outputs

    hook = network.base_model.register_forward_hook(narrow)
    try:
        logits: Tensor = run().logits
    finally:
        hook.remove()
    moved()
    if not kept or logits.shape[:2] != (1, min(block, len(wanted))):  # its head does not read what its base returns
        torch.autograd.backward(_loss(logits[chosen], wanted, among))
        return
    outputs, states, apart = kept[0]
    for start in range(0, max(len(wanted), 1), block):  # once even if nothing is predicted
        part = slice(start, start + block)
        if start > 0:
            outputs["last_hidden_state"] = apart[None, part]
            with instead_of_forward([network.base_model], lambda *_arguments, **_named: outputs):
                logits = network(**inputs).logits
            moved()
        torch.autograd.backward(_loss(logits[0], wanted[part], among[part]))
        moved()
    torch.autograd.backward(states, apart.grad)


def _loss(logits: Tensor, wanted: Tensor, among: Tensor) -> Tensor:
    """The sum of the losses of N tokens, each divided by how many its segment has. logits: [N, V]."""
    precise = torch.promote_types(logits.dtype, torch.float32)
    return (cross_entropy(logits.to(precise), wanted, reduction="none") / among).sum()
