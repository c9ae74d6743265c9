"""Gates on heads: against cutting the output projection, against finite differences, in every observable family."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cross_entropy

from headatlas.errors import ModelError, SettingError
from headatlas.models.gates import all_open, gates_without
from headatlas.models.language_model import next_tokens
from headatlas.models.loading import load_model

ENCODERS = ["bert", "roberta", "distilbert", "albert", "electra", "xlm-roberta", "modernbert"]
DECODERS = ["gpt2", "gpt-neox", "opt", "llama", "qwen3", "gemma2", "gpt-oss"]
WITHOUT_INTERFACE = ["mpnet", "deberta-v2", "xlnet"]
CPU = torch.device("cpu")


def hidden(model, batch):
    with torch.no_grad():
        return model.network.base_model(**model.inputs(batch)).last_hidden_state


def removed(model, *heads):
    return gates_without(heads, model.shapes[model.default_stack], model.name, CPU)


@pytest.mark.parametrize("family", [*ENCODERS, *DECODERS])
def test_open_gates_change_nothing_and_each_closed_gate_something(family, load_tiny, batch_for):
    model = load_tiny(family)
    batch = batch_for(model)
    plain = hidden(model, batch)
    shape = model.shapes[model.default_stack]
    with model.gated(all_open(shape, CPU)):
        assert torch.equal(hidden(model, batch), plain)
    changes = []
    for layer in range(1, 3):
        for head in range(1, 5):
            with model.gated(removed(model, (layer, head))):
                changes.append((hidden(model, batch) - plain).abs().max())
    assert min(changes) > 1e-4
    assert torch.equal(hidden(model, batch), plain), "nothing stays behind"


@pytest.mark.parametrize(
    ("family", "projection"),
    [
        ("bert", "encoder.layer.1.attention.output.dense"),
        ("distilbert", "transformer.layer.1.attention.out_lin"),
        ("llama", "layers.1.self_attn.o_proj"),
    ],
)
def test_a_closed_gate_equals_zeros_in_the_output_projection(family, projection, tiny_folder, load_tiny, batch_for):
    model = load_tiny(family)
    batch = batch_for(model)
    with model.gated(removed(model, (2, 3))):
        gated = hidden(model, batch)
    cut = load_model(str(tiny_folder(family)), device="cpu")
    with torch.no_grad():
        cut.network.base_model.get_submodule(projection).weight[:, 16:24] = 0  # head 3 of 4, each 8 wide
    torch.testing.assert_close(gated, hidden(cut, batch), atol=1e-6, rtol=1e-5)


def test_gates_of_each_input_are_its_own(load_tiny, batch_for):
    model = load_tiny("bert")
    batch = batch_for(model)
    gates = torch.stack([removed(model), removed(model, (1, 2)), removed(model, (2, 4), (1, 1))])
    with model.gated(gates):
        together = hidden(model, batch)
    for row in range(3):
        with model.gated(gates[row]):
            torch.testing.assert_close(together[row], hidden(model, batch)[row])


def test_all_heads_of_a_layer_can_go(load_tiny, batch_for):
    model = load_tiny("gpt2")
    batch = batch_for(model)
    with model.gated(removed(model, *((1, head) for head in range(1, 5)))):
        assert torch.isfinite(hidden(model, batch)).all()


def test_what_takes_the_place_of_a_head(load_tiny, batch_for):
    """A head replaced by its own output changes nothing; by a vector, what setting its output to it would."""
    model = load_tiny("bert")
    batch = batch_for(model)
    plain = hidden(model, batch)
    with model.gated(removed(model, (1, 2)), instead=lambda _layer, output: output):
        torch.testing.assert_close(hidden(model, batch), plain)
    seen = []

    def note(layer, output):
        seen.append(output)
        return output

    vector = torch.arange(8.0)
    means = torch.zeros(4, 8)
    means[1] = vector
    with model.gated(removed(model, (1, 2)), instead=lambda _layer, _output: means):
        replaced = hidden(model, batch)
    with model.changing_outputs(lambda layer, output: _with_head(output, 1, vector) if layer == 0 else output):
        torch.testing.assert_close(replaced, hidden(model, batch))
    with model.changing_outputs(note):
        hidden(model, batch)
    assert [tuple(output.shape) for output in seen] == [(3, batch.input_ids.shape[1], 4, 8)] * 2


def _with_head(output, head, vector):
    changed = output.clone()
    changed[:, :, head] = vector
    return changed


@pytest.mark.parametrize("family", ["bert", "albert", "llama"])
def test_gradients_of_gates_equal_finite_differences(family, tiny_folder, batch_for):
    model = load_model(str(tiny_folder(family)), device="cpu", dtype="float64")
    batch = batch_for(model)

    def losses(gates):
        with model.gated(gates):
            logits = model.network(**model.inputs(batch)).logits
        labels = (
            next_tokens(batch) if model.language_model == "causal" else batch.input_ids.masked_fill(~batch.mask, -100)
        )
        return sum(cross_entropy(row, wanted) for row, wanted in zip(logits, labels, strict=True))

    gates = torch.ones(3, 2, 4, dtype=torch.float64, requires_grad=True)
    losses(gates).backward()
    assert all(parameter.grad is None for parameter in model.network.parameters())
    # llama takes its softmax in float32 whatever the dtype, so its steps must be larger
    step, tolerance = (1e-2, 1e-2) if family == "llama" else (1e-5, 1e-6)
    for place in [(0, 0, 1), (2, 0, 3), (1, 1, 0), (2, 1, 2)]:
        up, down = torch.ones_like(gates), torch.ones_like(gates)
        up[place] += step
        down[place] -= step
        slope = (losses(up) - losses(down)).item() / (2 * step)
        assert gates.grad[place].item() == pytest.approx(slope, rel=tolerance, abs=1e-4 if family == "llama" else 1e-8)


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("family", ["t5", "bart"])
def test_each_stack_of_an_encoder_decoder_has_its_gates(family, stack, load_tiny, batch_for):
    model = load_tiny(family)
    inputs = model.inputs(batch_for(model))
    inputs |= {"decoder_input_ids": inputs["input_ids"], "use_cache": False}

    def states():
        with torch.no_grad():
            outputs = model.network.base_model(**inputs)
        return outputs.encoder_last_hidden_state, outputs.last_hidden_state

    encoder, decoder = states()
    with model.gated(gates_without([(2, 1)], model.shapes[stack], model.name, CPU), stack=stack):
        gated_encoder, gated_decoder = states()
    assert torch.equal(gated_encoder, encoder) == (stack != "encoder")
    assert not torch.allclose(gated_decoder, decoder, atol=1e-5)


@pytest.mark.parametrize("family", WITHOUT_INTERFACE)
def test_families_without_the_interface_are_refused(family, load_tiny):
    model = load_tiny(family)
    with (
        pytest.raises(ModelError, match="not gated or removed"),
        model.gated(all_open(model.shapes[model.default_stack], CPU)),
    ):
        pass


def test_gates_that_do_not_fit_are_refused(load_tiny, batch_for):
    model = load_tiny("bert")
    with pytest.raises(SettingError, match=r"\[3, 4\] do not fit 2 layers x 4 heads"), model.gated(torch.ones(3, 4)):
        pass
    with (
        pytest.raises(SettingError, match="gates for 2 inputs, but the batch has 3"),
        model.gated(torch.zeros(2, 2, 4)),
    ):
        hidden(model, batch_for(model))


@pytest.mark.parametrize("head", [(3, 1), (0, 1), (1, 5)])
def test_a_head_that_does_not_exist_is_refused(head, load_tiny):
    with pytest.raises(SettingError, match="There is no head"):
        removed(load_tiny("bert"), head)
