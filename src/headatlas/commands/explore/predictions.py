"""Which words a language model expects at some places of a text, with all its heads and without some.

A masked language model is asked about masked tokens. A causal one is asked which token comes next after those before
the place; the place after the last token is the next word of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.errors import ModelError
from headatlas.models.model import Model

MOST_SHOWN = 5


def place_probabilities(model: Model, batch: Batch, places: Sequence[int], gates: Tensor | None) -> Tensor:
    """The distribution over the vocabulary at each place of the batch's only text: [places, vocabulary], on the CPU.

    gates: [L, H], 0 where a head is removed; None for the whole model.
    """
    behind = 1 if model.language_model == "causal" else 0
    rows = torch.tensor([place - behind for place in places], device=model.device)
    with torch.inference_mode():
        if gates is None:
            logits = model.network(**model.inputs(batch)).logits
        else:
            with model.gated(gates):
                logits = model.network(**model.inputs(batch)).logits
        chosen: Tensor = logits[0, rows].to("cpu", torch.float32)
    if not torch.isfinite(chosen).all():
        raise ModelError(f"{model.name} predicts NaN here. Load it with --dtype float32.")
    return chosen.softmax(-1)


def predictions(
    model: Model, batch: Batch, places: Sequence[int], own: Sequence[int | None], gates: Tensor | None
) -> list[dict[str, Any]]:
    """The likeliest tokens at each place before and after removing heads, and what becomes of the text's own token.

    own: the token's id that stands in the text at each place, None where there is none.
    """
    if not places:
        return []
    whole = place_probabilities(model, batch, places, None)
    without = whole if gates is None else place_probabilities(model, batch, places, gates)
    rows = zip(places, own, whole, without, strict=True)
    return [
        {
            "place": place,
            "before": _likeliest(model, before),
            "after": _likeliest(model, after),
            "own": None if token is None else _own(model, token, before, after),
        }
        for place, token, before, after in rows
    ]


def _likeliest(model: Model, probabilities: Tensor) -> list[list[Any]]:
    """Tokens and their probabilities, likeliest first."""
    most = probabilities.topk(min(MOST_SHOWN, len(probabilities)))
    tokens = [_token(model, token) for token in most.indices.tolist()]
    return [[token, round(share, 6)] for token, share in zip(tokens, most.values.tolist(), strict=True)]


def _own(model: Model, token: int, before: Tensor, after: Tensor) -> dict[str, Any]:
    """The text's own token with its probability and rank (from 1), before and after."""
    ranks = [int((shares > shares[token]).sum()) + 1 for shares in (before, after)]
    return {
        "token": _token(model, token),
        "before": round(float(before[token]), 6),
        "after": round(float(after[token]), 6),
        "rank_before": ranks[0],
        "rank_after": ranks[1],
    }


def _token(model: Model, token: int) -> str:
    """A token's name; ids that only fill the vocabulary up have none."""
    return str(model.tokenizer.convert_ids_to_tokens(token) or f"token {token}")
