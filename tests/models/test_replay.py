"""Replays from a layer on equal whole passes, in every observable family; so do narrowed language model heads."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from headatlas.models.gates import Gates, gates_without
from headatlas.models.language_model import logits_at
from headatlas.models.replay import LayerReplay, outermost_listed

FAMILIES = ["bert", "roberta", "distilbert", "albert", "electra", "xlm-roberta", "modernbert"]
FAMILIES += ["gpt2", "gpt-neox", "opt", "llama", "qwen3", "gemma2", "gpt-oss"]
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def gates_of(model, stack, *heads):
    return gates_without(heads, model.shapes[stack], model.name, torch.device("cpu"))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_replay_equals_a_whole_pass(family, load_tiny, batch_for):
    model = load_tiny(family)
    stack, inputs = model.default_stack, model.inputs(batch_for(model))
    replay = LayerReplay(model)
    with torch.inference_mode():
        plain = replay.record(lambda: model.network(**inputs).logits)
        assert torch.equal(plain, model.network(**inputs).logits)
        assert replay.complete
        for layer in range(2):
            gates = gates_of(model, stack, (layer + 1, 2))
            with model.gated(gates):
                whole = model.network(**inputs).logits
            assert (whole - plain).abs().max() > 1e-4
            change = Gates(gates, None, model.shapes[stack])
            again = replay.replay(layer, lambda: model.network(**inputs).logits, change)
            torch.testing.assert_close(again, whole, **CLOSE)
            chosen = inputs["input_ids"] % 3 == 1
            some = replay.replay(layer, lambda: logits_at(model.network, inputs, chosen), change, read=chosen)  # noqa: B023
            torch.testing.assert_close(some, whole[chosen], **CLOSE)
    assert not any("forward" in module.__dict__ for module in model.network.modules())


@pytest.mark.parametrize("family", ["bert", "albert", "gemma2"])
def test_several_heads_in_one_batch_of_copies(family, load_tiny, batch_for):
    model = load_tiny(family)
    stack, inputs = model.default_stack, model.inputs(batch_for(model))
    repeated = {key: torch.cat([value] * 2) if hasattr(value, "shape") else value for key, value in inputs.items()}
    each = [gates_of(model, stack, (2, head)) for head in (1, 4)]
    gates = torch.stack(each).repeat_interleave(3, 0)
    replay = LayerReplay(model)
    with torch.inference_mode():
        replay.record(lambda: model.network(**inputs))
        change = Gates(gates, None, model.shapes[stack])
        both = replay.replay(1, lambda: model.network(**repeated).logits, change, copies=2)
        for number, one in enumerate(each):
            with model.gated(one):
                whole = model.network(**inputs).logits
            torch.testing.assert_close(both[3 * number : 3 * number + 3], whole, **CLOSE)


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("family", ["t5", "bart"])
def test_encoder_decoders_replay_each_stack(family, stack, load_tiny, batch_for):
    model = load_tiny(family)
    inputs = model.inputs(batch_for(model))
    inputs |= {"decoder_input_ids": inputs["input_ids"], "use_cache": False}
    repeated = {key: torch.cat([value] * 2) if hasattr(value, "shape") else value for key, value in inputs.items()}
    replay = LayerReplay(model, stack)
    with torch.inference_mode():
        replay.record(lambda: model.network(**inputs))
        assert replay.complete
        for layer in range(model.shapes[stack].layers):
            gates = gates_of(model, stack, (layer + 1, 2))
            with model.gated(gates, stack=stack):
                whole = model.network(**inputs).last_hidden_state
            change = Gates(gates, None, model.shapes[stack])
            again = replay.replay(layer, lambda: model.network(**repeated).last_hidden_state, change, copies=2)
            torch.testing.assert_close(again, torch.cat([whole, whole]), **CLOSE)


def test_layers_below_do_not_run_again(load_tiny, batch_for):
    model = load_tiny("bert")
    inputs = model.inputs(batch_for(model))
    ran = []
    layers = outermost_listed(model.network)
    hooks = [
        layer.attention.register_forward_hook(lambda *_, number=number: ran.append(number))
        for number, layer in enumerate(layers)
    ]
    replay = LayerReplay(model)
    with torch.inference_mode():
        replay.record(lambda: model.network(**inputs))
        replay.replay(1, lambda: model.network(**inputs), lambda _layer, output: output)
    for hook in hooks:
        hook.remove()
    assert ran == [0, 1, 1]


def test_forward_comes_back_after_an_error(load_tiny, batch_for):
    model = load_tiny("bert")

    def fail():
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        LayerReplay(model).record(fail)
    assert not any("forward" in module.__dict__ for module in model.network.modules())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_narrowed_head_gives_the_same_logits(family, load_tiny, batch_for):
    model = load_tiny(family)
    batch = batch_for(model)
    chosen = torch.zeros_like(batch.mask)
    chosen[0, 3] = chosen[2, 1] = chosen[2, 7] = True
    with torch.inference_mode():
        whole = model.network(**model.inputs(batch)).logits
        torch.testing.assert_close(logits_at(model.network, model.inputs(batch), chosen), whole[chosen], **CLOSE)
        everything = logits_at(model.network, model.inputs(batch), torch.ones_like(chosen))
        torch.testing.assert_close(everything, whole.flatten(0, 1), **CLOSE)
    assert not model.network.base_model._forward_hooks


def test_a_replay_multiplies_only_what_is_needed(load_tiny, batch_for):
    """Of the second of two layers only its output projection and feed-forward, at the tokens that are read."""
    model = load_tiny("bert")
    network, inputs = model.network.base_model, model.inputs(batch_for(model))
    layer = outermost_listed(network)[1]
    tokens, read = inputs["input_ids"].numel(), torch.zeros_like(inputs["input_ids"], dtype=torch.bool)
    read[0, :2] = True
    after_attention = sum(
        part.weight.numel()
        for name, part in layer.named_modules()
        if isinstance(part, torch.nn.Linear) and not name.startswith("attention.self")
    )
    replay = LayerReplay(model)
    with torch.inference_mode():
        replay.record(lambda: network(**inputs))
        for rows, asked in ((tokens, None), (2, read)):
            with FlopCounterMode(display=False) as counter:
                replay.replay(1, lambda: network(**inputs), lambda _layer, output: output, read=asked)
            pooler = 0 if network.pooler is None else len(read) * network.pooler.dense.weight.numel()
            assert counter.get_total_flops() == 2 * (rows * after_attention + pooler)
