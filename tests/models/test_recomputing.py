"""Gradients of long inputs: layers run again on the way back, so what they compute is not kept, and nothing changes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from headatlas.encoding.batches import Batch, make_batch
from headatlas.encoding.segments import Segment
from headatlas.models import model as model_file
from headatlas.models.model import Model
from headatlas.models.observing import observe_network
from headatlas.models.tiled import DroppedTiles
from headatlas.models.tiles import Tile
from models.test_ending import finished_modules
from models.test_gradients import masker_of

IN_TILES = ["bert", "albert", "roberta", "modernbert", "gpt2", "llama", "gemma2", "gpt-oss", "opt", "qwen3"]


class Kept(DroppedTiles):
    """Keeps a copy of every tile, with the number of its layer."""

    def __init__(self, batch: Batch, layer: int, tiles: list[tuple[int, Tensor]]) -> None:
        super().__init__([len(segment) for segment in batch.segments])
        self._layer, self._tiles = layer, tiles

    def add(self, tile: Tile) -> None:
        self._tiles.append((self._layer, tile.weights.clone()))


def gradient_tiles(model: Model, batch: Batch) -> list[tuple[int, Tensor]]:
    """The gradients of all tiles in the order in which they come, last layer first."""
    tiles: list[tuple[int, Tensor]] = []
    model.observe_gradient_tiles(batch, lambda layer, _: Kept(batch, layer, tiles), masker_of(model))
    return tiles


def keep_all(*_: Any, **__: Any) -> nullcontext[None]:
    """What `recomputing` would be if it did nothing."""
    return nullcontext()


def assert_equal(ours: list[tuple[int, Tensor]], expected: list[tuple[int, Tensor]]) -> None:
    assert [layer for layer, _ in ours] == [layer for layer, _ in expected]
    for (_, tile), (_, same) in zip(ours, expected, strict=True):
        torch.testing.assert_close(tile, same, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("family", IN_TILES)
def test_gradients_are_those_of_layers_that_are_kept(family, load_tiny, batch_for, monkeypatch):
    model = load_tiny(family)
    batch = batch_for(model)
    ours = gradient_tiles(model, batch)
    assert {layer for layer, _ in ours} == {0, 1}
    monkeypatch.setattr(model_file, "recomputing", keep_all)
    assert_equal(ours, gradient_tiles(model, batch))


def test_each_layer_runs_twice_and_the_network_stays_as_it_was(load_tiny, batch_for):
    model = load_tiny("bert")
    with finished_modules(model) as finished:
        gradient_tiles(model, batch_for(model))
    runs = {name: number for name, number in finished.items() if name.endswith(("self.query", "word_embeddings"))}
    layers = {f"bert.encoder.layer.{layer}.attention.self.query": 2 for layer in (0, 1)}
    assert runs == layers | {"bert.embeddings.word_embeddings": 1}
    assert not any("forward" in module.__dict__ for module in model.network.modules())


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_gates_keep_to_their_layers(family, load_tiny, batch_for, monkeypatch):
    model = load_tiny(family)
    batch, gates = batch_for(model), torch.ones(2, 4)
    gates[0, :2] = 0
    with model.gated(gates):
        ours = gradient_tiles(model, batch)
    monkeypatch.setattr(model_file, "recomputing", keep_all)
    with model.gated(gates):
        assert_equal(ours, gradient_tiles(model, batch))
    assert all((tile[:, :2] == 0).all() for layer, tile in ours if layer == 0)


class Living(TorchDispatchMode):
    """Notes the memory that operations make, but for a network's own, and says how much of it is still held."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self._own = {parameter.untyped_storage()._cdata for parameter in network.parameters()}
        self._made: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, Tensor):
                storage = tensor.untyped_storage()
                if storage._cdata not in self._own:
                    self._made[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        return made

    @property
    def numbers(self) -> int:
        return sum(size for storage, size in self._made.values() if not storage.expired()) // 4


def test_a_layer_more_keeps_what_goes_into_it_and_no_more(tokenizer_of, monkeypatch):
    """Held at the moment when the loss has been differentiated, and the way back through the layers begins."""
    tokens, width = 256, 32

    def held(layers: int) -> int:
        shape = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": 4, "intermediate_size": 64}
        shape |= {"vocab_size": len(tokenizer_of("gpt2")), "max_position_embeddings": tokens}
        network = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape))
        model = observe_network(network, tokenizer_of("gpt2"))
        ids = np.arange(tokens, dtype=np.int32) % 50
        batch = make_batch([Segment("0.0.0", ids, np.zeros_like(ids), ids)], model.kinds, model.pad_id)
        numbers: list[int] = []

        def open_layer(layer: int, _query: Tensor) -> DroppedTiles:
            if layer == layers - 1:
                numbers.append(living.numbers)
            return DroppedTiles([tokens])

        with Living(network) as living:
            model.observe_gradient_tiles(batch, open_layer, None)
        assert len(numbers) == 1
        return numbers[0]

    assert held(6) - held(2) == 4 * tokens * width
    monkeypatch.setattr(model_file, "recomputing", keep_all)
    assert held(6) - held(2) >= 40 * tokens * width, "what the test measures"
