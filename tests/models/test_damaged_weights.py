"""Weights that are not finite, or that overflow, are named."""

from __future__ import annotations

import pytest
from torch import Tensor

from headatlas.errors import ModelError
from tests.models.altering import CopyOf, change_tensors, load


@pytest.mark.parametrize(
    ("family", "tensor"),
    [
        ("bert", "bert.encoder.layer.1.attention.self.query.weight"),
        ("bert", "bert.encoder.layer.0.attention.self.key.bias"),
        ("bert", "bert.encoder.layer.1.output.dense.weight"),
        ("bert", "cls.predictions.transform.dense.weight"),
        ("bert", "cls.predictions.bias"),
        ("distilbert", "distilbert.transformer.layer.1.attention.q_lin.weight"),
        ("mpnet", "mpnet.encoder.layer.1.attention.attn.v.weight"),
        ("llama", "model.layers.1.self_attn.v_proj.weight"),
        ("llama", "lm_head.weight"),
        ("gpt2", "transformer.h.1.attn.c_attn.weight"),
        ("t5", "decoder.block.1.layer.1.EncDecAttention.k.weight"),
    ],
)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_damaged_weights_are_named(family: str, tensor: str, value: float, copy_of_tiny: CopyOf) -> None:
    def damage(tensors: dict[str, Tensor]) -> None:
        tensors[tensor].view(-1)[17] = value

    folder = change_tensors(copy_of_tiny(family), damage)
    with pytest.raises(ModelError) as caught:
        load(folder)
    assert f"NaN or infinite values in {tensor}. " in str(caught.value)


def test_many_damaged_tensors_are_counted(copy_of_tiny: CopyOf) -> None:
    folder = change_tensors(copy_of_tiny("bert"), lambda ts: [t.fill_(float("nan")) for t in ts.values()])
    with pytest.raises(ModelError, match=r"and \d\d more"):
        load(folder)


def test_finite_weights_whose_attention_overflows_are_named(copy_of_tiny: CopyOf) -> None:
    def blow_up(tensors: dict[str, Tensor]) -> None:
        for part in ("query", "key"):
            tensors[f"bert.encoder.layer.1.attention.self.{part}.weight"][16:24] *= 1e25

    with pytest.raises(ModelError, match=r"head 2-3 .*overflow in float32\. Download, convert"):
        load(change_tensors(copy_of_tiny("bert"), blow_up))


def test_weights_too_large_for_half_precision(copy_of_tiny: CopyOf) -> None:
    def enlarge(tensors: dict[str, Tensor]) -> None:
        tensors["bert.encoder.layer.0.output.dense.weight"][0, 0] = 1e6

    folder = change_tensors(copy_of_tiny("bert"), enlarge)
    assert load(folder).shapes
    with pytest.raises(ModelError, match=r"output\.dense\.weight\. Try --dtype float32"):
        load(folder, dtype="float16")
