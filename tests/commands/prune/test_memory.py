"""The peak memory of a pass, against a sum made by hand and against a pass with fewer heads."""

from __future__ import annotations

import torch
from torch import nn

from headatlas.commands.prune.memory import COUNTED, compare_memory, peak_bytes
from headatlas.models.pruning import pruned_copy


class Steps(nn.Module):
    """Two projections and a view; the first one's output is let go before the last is made."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(10, 300), nn.Linear(300, 20)

    def forward(self, given):
        wide = self.first(given)
        narrow = self.second(wide.view(-1, 300))
        del wide
        return narrow.relu().sum(0)


def test_what_is_alive_at_once_is_counted():
    weights = 4 * (10 * 300 + 300 + 300 * 20 + 20)
    alive = 4 * 7 * (300 + 20)  # both outputs, while the second is made
    assert peak_bytes(Steps(), {"given": torch.zeros(7, 10)}) == weights + alive


def test_a_pass_leaves_nothing_behind():
    network, inputs = Steps(), {"given": torch.zeros(50, 10)}
    assert len({peak_bytes(network, inputs) for _ in range(3)}) == 1


def test_fewer_heads_take_less(load_tiny, batch_for):
    model = load_tiny("bert")
    removed = [(layer, head) for layer in (1, 2) for head in (1, 2)]
    smaller = pruned_copy(model.network, removed, {}, "bert")
    inputs = model.inputs(batch_for(model))
    found = compare_memory(model.network, smaller, inputs)
    assert found["measured"] == COUNTED
    assert found["ratio"] == found["after"] / found["before"] < 1
    weights = 4 * (model.network.base_model.num_parameters() - smaller.base_model.num_parameters())
    assert found["before"] - found["after"] > weights, "maps of heads that are gone take nothing either"
