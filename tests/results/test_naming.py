"""A model's name says which stack of heads is meant where there are two."""

import pytest

from headatlas.results.naming import heads_in_layers, layers_and_heads, model_named, short_name


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_an_encoder_decoder_is_named_with_its_stack(stack):
    model = {"name": "models/t5", "encoder_decoder": True, "attention": stack}
    assert model_named(model) == f"models/t5 ({stack})"
    assert short_name(model) == f"t5 ({stack})"


@pytest.mark.parametrize("more", [{"encoder_decoder": False}, {}], ids=["one stack", "an older atlas"])
def test_a_model_with_one_stack_is_named_without(more):
    assert model_named({"name": "models/gpt2", "attention": "decoder"} | more) == "models/gpt2"


def test_layers_and_heads_have_a_singular():
    assert layers_and_heads({"heads": [1]}) == "1 layer, 1 head"
    assert heads_in_layers({"heads": [3, 4]}) == "7 heads in 2 layers"
