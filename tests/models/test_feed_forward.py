"""Feed-forward parts in blocks of tokens give what they give as a whole, in every family, and leave nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps

import pytest
import torch
from torch import Tensor

from headatlas.encoding.batches import Batch
from headatlas.models import feed_forward
from headatlas.models.feed_forward import feed_forward_in_blocks
from headatlas.models.model import Model
from models.test_attention import CLOSE, STACKS

IN_BLOCKS = {"bert", "roberta", "distilbert", "albert", "electra", "xlm-roberta", "modernbert", "xlnet"}
IN_BLOCKS |= {"gpt2", "gpt-neox", "llama", "qwen3", "gemma2", "t5"}
FAMILIES = sorted({family for family, _ in STACKS})


def states(model: Model, batch: Batch) -> Tensor:
    """What a network makes of a batch in the end."""
    network, inputs = model._part_to_run(batch, model.default_stack)
    return network(**inputs).last_hidden_state


def places_of(model: Model) -> list[tuple[type, str]]:
    return [
        place for kind in {type(module) for module in model.network.modules()} for place in feed_forward._places(kind)
    ]


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Blocks of three tokens, and how many tokens each call of a function within the context had."""
    sizes: list[int] = []
    blockwise = feed_forward._blockwise

    def counted(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        @wraps(function)
        def count(module: object, states: Tensor, *others: object, **named: object) -> Tensor:
            sizes.append(states.shape[:-1].numel())
            return function(module, states, *others, **named)

        return blockwise(count)

    monkeypatch.setattr(feed_forward, "TOKENS", 3)
    monkeypatch.setattr(feed_forward, "_blockwise", counted)
    return sizes


@pytest.mark.parametrize("family", FAMILIES)
def test_blocks_are_the_whole(load_tiny, batch_for, sizes, family):
    model = load_tiny(family)
    batch = batch_for(model)
    with torch.inference_mode():
        whole = states(model, batch)
        with feed_forward_in_blocks(model.network):
            in_blocks = states(model, batch)
    torch.testing.assert_close(in_blocks[batch.mask], whole[batch.mask], **CLOSE)
    assert (max(sizes, default=0) == 3) == (family in IN_BLOCKS)


def test_nothing_stays_behind(load_tiny, batch_for):
    model = load_tiny("llama")
    before = [vars(kind)[name] for kind, name in places_of(model)]
    assert before
    with feed_forward_in_blocks(model.network), feed_forward_in_blocks(model.network):
        assert all(vars(kind)[name] not in before for kind, name in places_of(model))
    assert [vars(kind)[name] for kind, name in places_of(model)] == before


def test_gradients_and_other_threads_run_as_they_are(load_tiny, batch_for, sizes):
    model = load_tiny("bert")
    batch = batch_for(model)
    with feed_forward_in_blocks(model.network):
        states(model, batch)
        thread = threading.Thread(target=torch.inference_mode()(lambda: states(model, batch)))
        thread.start()
        thread.join()
    assert set(sizes) == {batch.mask.numel()}


def test_a_function_that_somebody_changed_is_not_known(load_tiny, monkeypatch):
    from transformers.models.llama.modeling_llama import LlamaMLP

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x.roll(1, 1)))

    feed_forward._places.cache_clear()
    monkeypatch.setattr(LlamaMLP, "forward", forward)
    assert feed_forward._places(LlamaMLP) == ()
    feed_forward._places.cache_clear()
