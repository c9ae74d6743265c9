"""Which head a damaged weight belongs to, also where heads were cut out."""

from __future__ import annotations

import pytest
import torch

from headatlas.errors import ModelError
from headatlas.models.finite import check_weights
from headatlas.models.pruning import pruned_copy

# removed heads, the tensor, its damaged row, and what is said; heads of the tiny networks are 8 rows each
CASES = [
    ("bert", [], "bert.encoder.layer.1.attention.self.query.weight", 17, "(head 2-3)"),
    ("bert", [(2, 1)], "bert.encoder.layer.1.attention.self.query.weight", 17, "(head 2-3; 2-4 before it was pruned)"),
    (
        "bert",
        [(2, 1), (2, 3)],
        "bert.encoder.layer.1.attention.self.key.bias",
        8,
        "(head 2-2; 2-4 before it was pruned)",
    ),
    ("bert", [(2, 1)], "bert.encoder.layer.0.attention.self.value.weight", 31, "(head 1-4; 1-4 before it was pruned)"),
    ("bert", [(2, 1)], "bert.encoder.layer.1.output.dense.weight", 3, "(layer 2)"),
    ("llama", [], "model.layers.0.self_attn.k_proj.weight", 8, "(head 1-3, 1-4)"),
    ("llama", [(1, 1), (1, 2)], "model.layers.0.self_attn.k_proj.weight", 0, "(head 1-1, 1-2; 1-3, 1-4 before"),
    ("llama", [(1, 1), (1, 2)], "model.layers.0.self_attn.q_proj.weight", 8, "(head 1-2; 1-4 before it was pruned)"),
]


@pytest.mark.parametrize(("family", "removed", "tensor", "row", "said"), CASES)
def test_the_head_of_a_damaged_weight_is_named(family, removed, tensor, row, said, tiny_models):
    network = tiny_models[family]()
    if removed:
        network = pruned_copy(network, removed, {}, family)
    check_weights(network, family)
    with torch.no_grad():
        network.get_parameter(tensor)[row] = torch.nan
    with pytest.raises(ModelError) as caught:
        check_weights(network, family)
    assert f"{tensor} {said}" in str(caught.value)


def test_a_layer_that_has_lost_all_heads_is_sound(tiny_models):
    check_weights(pruned_copy(tiny_models["bert"](), [(2, head) for head in (1, 2, 3, 4)], {}, "bert"), "bert")
