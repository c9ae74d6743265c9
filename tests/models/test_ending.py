"""A pass that is run for its attention alone ends with the last layer that attends; all others run to the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from transformers.models.bert import modeling_bert

from headatlas.encoding.masking import Masker
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.models.tiled import DroppedTiles

STACKS: list[tuple[str, Stack]] = [
    *(("bert", "encoder"), ("albert", "encoder"), ("llama", "decoder"), ("gemma2", "decoder")),
    *(("t5", "encoder"), ("t5", "decoder"), ("t5", "cross")),
]


@contextmanager
def finished_modules(model: Model) -> Iterator[Counter[str]]:
    """Count how often each module of a network returns."""
    finished: Counter[str] = Counter()
    hooks = [
        module.register_forward_hook(lambda *_, name=name: finished.update([name]))
        for name, module in model.network.named_modules()
    ]
    try:
        yield finished
    finally:
        for hook in hooks:
            hook.remove()


def run_whole(model, batch, stack):
    model.observe(batch, lambda *_: None, stack)


def run_in_tiles(model, batch, stack):
    lengths = [len(segment) for segment in batch.segments]
    model.observe_tiles(batch, lambda *_: DroppedTiles(lengths), stack)


@pytest.mark.parametrize("run", [run_whole, run_in_tiles])
@pytest.mark.parametrize(("family", "stack"), STACKS)
def test_a_pass_ends_with_the_last_layer(family, stack, run, load_tiny, batch_for):
    model = load_tiny(family)
    batch = batch_for(model)
    network, _ = model._part_to_run(batch, stack)
    name = next(name for name, module in model.network.named_modules() if module is network)
    with finished_modules(model) as finished:
        run(model, batch, stack)
    assert finished
    assert not finished[name]
    if stack != "cross":  # which has no states of its own
        with finished_modules(model) as finished:
            model.observe(batch, lambda *_: None, stack, lambda _: None)
        assert finished[name] == 1


def test_what_follows_the_last_attention_does_not_run(load_tiny, batch_for):
    model = load_tiny("bert")
    with finished_modules(model) as finished:
        run_in_tiles(model, batch_for(model), "encoder")
    assert finished["bert.encoder.layer.0.output.dense"] == 1
    assert finished["bert.encoder.layer.1.attention.self.value"] == 1
    assert finished["bert.encoder.layer.1.attention.output.dense"] == 0
    assert finished["bert.encoder.layer.1.output.dense"] == 0


def test_a_pass_whose_states_or_loss_are_wanted_runs_to_the_end(load_tiny, batch_for):
    model = load_tiny("bert")
    batch = batch_for(model)
    with finished_modules(model) as finished:
        model.observe(batch, lambda *_: None, see_states=lambda _: None)
    assert finished["bert.encoder.layer.1.output.dense"] == 1
    masker, sink = Masker(model.tokenizer, seed=0), DroppedTiles([len(segment) for segment in batch.segments])
    with finished_modules(model) as finished:
        model.observe_gradients(batch, lambda *_: None, masker)
    assert finished["bert.encoder.layer.1.output.dense"] == 1
    with finished_modules(model) as finished:
        model.observe_gradient_tiles(batch, lambda *_: sink, masker)
    assert finished["bert.encoder.layer.1.output.dense"] == 2  # its layers run again on the way back


@pytest.mark.parametrize("run", [run_whole, run_in_tiles])
def test_gates_keep_to_their_layers_from_pass_to_pass(run, load_tiny, batch_for):
    """Gates count the layers that they change, the last one of a pass that ends there too."""
    model = load_tiny("bert")
    batch = batch_for(model)
    gates = torch.ones(2, 4)
    gates[0] = 0
    seen = []
    with model.gated(gates):
        for _ in range(2):
            run(model, batch, "encoder")
            model.observe(batch, lambda _, weights, __: seen.append(weights.clone()))
    torch.testing.assert_close(seen[:2], seen[2:], atol=0, rtol=0)


def test_the_network_is_as_it_was(load_tiny, batch_for):
    model = load_tiny("bert")
    batch, own = batch_for(model), modeling_bert.eager_attention_forward
    with torch.no_grad():
        before = model.network(**model.inputs(batch)).logits
        for run in (run_whole, run_in_tiles):
            run(model, batch, "encoder")
        after = model.network(**model.inputs(batch)).logits
    torch.testing.assert_close(after, before, atol=0, rtol=0)
    assert modeling_bert.eager_attention_forward is own


def test_an_error_of_a_study_is_not_taken_for_the_end(load_tiny, batch_for):
    model = load_tiny("bert")

    def fail(*_):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        model.observe(batch_for(model), fail)
