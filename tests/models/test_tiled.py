"""Attention in tiles is what attention in one piece is, for every family, and takes memory in proportion to tokens."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers.models.bert import modeling_bert

from headatlas.encoding.batches import Batch, make_batch
from headatlas.encoding.segments import Segment
from headatlas.engine import job
from headatlas.engine.job import Observer
from headatlas.errors import ModelError
from headatlas.models import attention, plain, tiled
from headatlas.models.model import Model
from headatlas.models.observing import observe_network
from headatlas.models.stacks import Stack
from headatlas.models.tiled import DroppedTiles, cut_evenly, cut_rows
from headatlas.models.tiles import Tile
from headatlas.studies import STUDIES
from models.test_attention import CLOSE, FALLBACK, STACKS, observed
from models.test_gradients import CAUSAL, MASKED

ON_INTERFACE = [(family, stack) for family, stack in STACKS if family not in FALLBACK]
FUSED = {"bert", "roberta", "distilbert", "albert", "electra", "xlm-roberta", "modernbert", "bart"}
FUSED |= {"gpt2", "gpt-neox", "opt", "llama", "qwen3"}


class Maps(DroppedTiles):
    """Puts tiles together again, and fills their memory with rubbish."""

    def __init__(self, lengths: list[int], heads: int, done: Callable[[str, Tensor], None]) -> None:
        super().__init__(lengths)
        self._maps, self._done = torch.zeros(len(lengths), heads, max(lengths), max(lengths)), done

    def add(self, tile: Tile) -> None:
        self._maps[tile.segments, tile.heads, tile.rows, tile.columns] = tile.weights

    def softmax(self, tile: Tile, start: Tensor, end: Tensor, scale: float) -> None:
        super().softmax(tile, start, end, scale)
        self.add(tile)

    def finish(self, path: str) -> None:
        self._done(path, self._maps)


def tiled_maps(model: Model, batch: Batch, stack: Stack | None = None) -> tuple[list[str], list[Tensor]]:
    """How each layer was computed, and its maps."""
    paths: list[str] = []
    maps: list[Tensor] = []

    def done(path: str, of_layer: Tensor) -> None:
        paths.append(path)
        maps.append(of_layer)

    lengths = [len(segment) for segment in batch.segments]
    model.observe_tiles(batch, lambda _layer, query: Maps(lengths, query.shape[1], done), stack)
    return paths, maps


def states_of(model: Model, batch: Batch) -> Tensor:
    """What the network makes of a batch in the end, without padding."""
    network = model.network.get_decoder() if model.is_encoder_decoder else model.network.base_model
    inputs = model.network_inputs(batch.input_ids, batch.mask.long(), batch.type_ids, network)
    with torch.inference_mode():
        return network(**inputs).last_hidden_state[batch.mask]


def in_tiles(model: Model, batch: Batch) -> Any:
    lengths = [len(segment) for segment in batch.segments]
    return attention.tiling(model.network, lambda *_: DroppedTiles(lengths))


@pytest.mark.parametrize("rows", [1, 5, 64])
@pytest.mark.parametrize(("family", "stack"), ON_INTERFACE)
def test_tiles_add_up_to_whole_maps(family, stack, rows, load_tiny, batch_for, monkeypatch):
    monkeypatch.setattr(tiled, "MOST_ROWS", rows)
    model = load_tiny(family)
    batch = batch_for(model)
    real = batch.mask[:, None, :, None] & batch.mask[:, None, None, :]
    paths, maps = tiled_maps(model, batch, stack)
    assert set(paths) == {"fused tiles" if family in FUSED else "tiles"}
    for ours, whole in zip(maps, observed(model, batch, stack), strict=True):
        torch.testing.assert_close(ours * real, whole * real, **CLOSE)


@pytest.mark.parametrize("numbers", [100, 10**6])
@pytest.mark.parametrize(("family", "stack"), [pair for pair in ON_INTERFACE if pair[0] in FUSED])
def test_the_way_of_a_gpu_is_the_same(family, stack, numbers, load_tiny, batch_for, monkeypatch):
    """Here on the CPU: larger tiles, products of whole batches, and tensor operations in place of the sweep."""
    model = load_tiny(family)
    batch = batch_for(model)
    expected = states_of(model, batch)
    swept = sums_of(model, batch, stack)
    monkeypatch.setattr(tiled, "on_gpu", lambda _tensor: True)
    monkeypatch.setattr(tiled, "NUMBERS_ON_GPU", numbers)
    monkeypatch.setattr(tiled, "ROWS_ON_GPU", 6)
    real = batch.mask[:, None, :, None] & batch.mask[:, None, None, :]
    paths, maps = tiled_maps(model, batch, stack)
    assert set(paths) == {"plain tiles"}
    for ours, whole in zip(maps, observed(model, batch, stack), strict=True):
        torch.testing.assert_close(ours * real, whole * real, **CLOSE)
    with in_tiles(model, batch):
        torch.testing.assert_close(states_of(model, batch), expected, **CLOSE)
    np.testing.assert_allclose(sums_of(model, batch, stack), swept, rtol=1e-5, atol=1e-5)


def sums_of(model: Model, batch: Batch, stack: Stack) -> Any:
    """What a study adds up."""
    study = STUDIES["entropy"]()
    study.start(model.shapes[stack])
    Observer(model, {"entropy": study}, stack).observe(batch)
    return study.total


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_half_precision_takes_plain_tiles(family, dtype, tiny_models, tokenizer_of, batch_for):
    network = tiny_models[family]().to(dtype)
    model = observe_network(network, tokenizer_of("wordpiece" if family == "bert" else "gpt2"))
    batch = batch_for(model)
    paths, maps = tiled_maps(model, batch)
    assert set(paths) == {"plain tiles"}
    real = batch.mask[:, None, :, None] & batch.mask[:, None, None, :]
    near = {torch.bfloat16: 3e-2, torch.float16: 4e-3}[dtype]
    for ours, whole in zip(maps, observed(model, batch, model.default_stack), strict=True):
        torch.testing.assert_close(ours * real, whole.float() * real, rtol=near, atol=near)


@pytest.mark.parametrize("rows", [1, 5, 64])
@pytest.mark.parametrize("family", sorted({family for family, _ in ON_INTERFACE}))
def test_what_follows_is_the_same(family, rows, load_tiny, batch_for, monkeypatch):
    monkeypatch.setattr(tiled, "MOST_ROWS", rows)
    model = load_tiny(family)
    batch = batch_for(model)
    expected = states_of(model, batch)
    with in_tiles(model, batch):
        torch.testing.assert_close(states_of(model, batch), expected, **CLOSE)
    torch.testing.assert_close(states_of(model, batch), expected, rtol=0, atol=0)


@pytest.mark.parametrize("family", ["bert", "llama", "gemma2"])
def test_heads_are_gated_in_tiles_too(family, load_tiny, batch_for, monkeypatch):
    monkeypatch.setattr(tiled, "MOST_ROWS", 5)
    model = load_tiny(family)
    batch = batch_for(model)
    gates = torch.ones(2, 4)
    gates[0, 1] = gates[1, 3] = 0
    with model.gated(gates):
        expected = states_of(model, batch)
        with in_tiles(model, batch):
            torch.testing.assert_close(states_of(model, batch), expected, **CLOSE)
    assert not torch.allclose(expected, states_of(model, batch), atol=1e-2)


@pytest.mark.parametrize("rows", [1, 5, 64])
@pytest.mark.parametrize("family", [*MASKED, *CAUSAL])
def test_gradients_in_tiles_are_those_of_whole_maps(family, rows, load_tiny, batch_for, monkeypatch):
    monkeypatch.setattr(tiled, "MOST_ROWS", rows)
    model = load_tiny(family)
    sums = []
    for most in (10**9, 0):
        monkeypatch.setattr(job, "MOST_WHOLE", most)
        study = STUDIES["gradients"](model.default_stack == "decoder")
        study.start(model.shapes[model.default_stack])
        Observer(model, {"gradients": study}, seed=3).observe(batch_for(model))
        sums.append(study.total)
    assert np.abs(sums[0]).max() > 1e-3
    np.testing.assert_allclose(sums[1], sums[0], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "llama", "modernbert"])
def test_a_function_that_is_not_known_word_for_word_is_not_replaced(family, load_tiny, batch_for, monkeypatch):
    model = load_tiny(family)
    batch = batch_for(model)
    file = sys.modules[type(next(m for m in model.network.modules() if "Attention" in type(m).__name__)).__module__]
    own = file.eager_attention_forward
    monkeypatch.setattr(file, "eager_attention_forward", lambda *arguments, **named: own(*arguments, **named))
    assert set(tiled_maps(model, batch)[0]) == {"tiles"}


def test_what_may_change_attention_is_not_plain(load_tiny):
    module = load_tiny("gemma2").network.model.layers[0].self_attn
    function = sys.modules[type(module).__module__].eager_attention_forward
    query, key = torch.zeros(1, 4, 3, 8), torch.zeros(1, 2, 3, 8)
    assert plain.plain_scale(function, module, query, key, {"softcap": None}) == pytest.approx(8**-0.5)
    assert plain.plain_scale(function, module, query, key, {"softcap": None, "scaling": 2.0}) == 2
    for named in ({"softcap": 2.0}, {"s_aux": torch.zeros(4)}, {"scaling": torch.ones(())}, {"position_bias": key}):
        assert plain.plain_scale(function, module, query, key, named) is None


def test_an_eager_function_that_counts_its_queries_gets_whole_maps(tiny_folder, load_tiny, monkeypatch):
    """Such as one with a causal mask of its own, made for as many rows as there are."""

    def counting(
        module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **_: Any
    ) -> tuple[Tensor, Tensor]:
        ahead = torch.ones(query.shape[2], key.shape[2]).triu(1).bool()
        weights = (query @ key.transpose(2, 3)).masked_fill(ahead, -1e9).softmax(-1)
        return (weights @ value).transpose(1, 2), weights

    network, tokenizer = load_tiny("bert").network, load_tiny("bert").tokenizer
    monkeypatch.setattr(modeling_bert, "eager_attention_forward", counting)
    model = observe_network(network, tokenizer)
    assert model.source["compared_with_eager"]["in_tiles"]["differs"]
    assert not model.in_tiles


@pytest.mark.parametrize("family", ["mpnet", "xlnet"])
def test_attention_that_ignores_the_interface_is_seen_as_whole_maps(family, load_tiny, batch_for):
    model = load_tiny(family)
    assert not model.in_tiles
    with pytest.raises(ModelError, match="saw the attention of 0"):
        tiled_maps(model, batch_for(model))
    study = STUDIES["positions"]()
    study.start(model.shapes["encoder"])
    Observer(model, {"positions": study}).observe(batch_for(model))
    assert study.total.any()


def test_the_manifest_says_how_layers_are_computed(load_tiny):
    assert load_tiny("llama").source["compared_with_eager"]["in_tiles"]["layers"] == {"fused tiles": 2}
    assert load_tiny("gpt-oss").source["compared_with_eager"]["in_tiles"]["layers"] == {"tiles": 2}


# --- memory -------------------------------------------------------------------------------------------------------


class Largest(TorchDispatchMode):
    """Notes the largest tensor that any operation makes."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, Tensor):
                self.numbers = max(self.numbers, tensor.untyped_storage().nbytes() // 4)
        return made


@pytest.fixture(scope="module")
def long_models(tokenizer_of):
    """Tiny networks with room for long inputs: bidirectional, causal, and with windows and sinks."""
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 16}
    sizes["max_position_embeddings"] = 1024
    grouped = sizes | {"num_key_value_heads": 2, "head_dim": 4, "vocab_size": len(tokenizer_of("gpt2"))}
    bert = transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=len(tokenizer_of("wordpiece")), **sizes))
    llama = transformers.LlamaForCausalLM(transformers.LlamaConfig(**grouped))
    gemma = transformers.Gemma2ForCausalLM(transformers.Gemma2Config(sliding_window=8, **grouped))
    return {
        "bert": observe_network(bert, tokenizer_of("wordpiece")),
        "llama": observe_network(llama, tokenizer_of("gpt2")),
        "gemma2": observe_network(gemma, tokenizer_of("gpt2")),
    }


@pytest.mark.parametrize("family", ["bert", "llama", "gemma2"])
def test_memory_grows_with_the_tokens_and_not_with_their_pairs(family, long_models, monkeypatch):
    monkeypatch.setattr(tiled, "MOST_NUMBERS", 5_000)
    model = long_models[family]

    def largest(tokens: int, model: Model) -> int:
        ids = np.full(tokens, 7, dtype=np.int32)
        segment = Segment("0.0.0", ids, np.zeros_like(ids), np.arange(tokens, dtype=np.int32))
        studies = {name: STUDIES[name]() for name in ("positions", "token_kinds", "entropy", "max_attention")}
        for study in studies.values():
            study.replicate_count = 10
            study.start(model.shapes[model.default_stack])
        with Largest() as mode:
            Observer(model, studies).observe(make_batch([segment], model.kinds, model.pad_id))
        return mode.numbers

    monkeypatch.setattr(job, "MOST_WHOLE", 0)
    few, many = largest(512, model), largest(1024, model)
    assert many <= 2.1 * few
    assert many < 1024**2 / 4, "not even the mask is whole"
    assert largest(512, replace(model, in_tiles=False)) >= 4 * 512**2, "what the test measures"


# --- cutting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengths", [[3], [5, 2, 1], [40, 7], [1, 1, 1, 1]])
@pytest.mark.parametrize("rows", [1, 5, 64])
@pytest.mark.parametrize("numbers", [10, 1000, 10**9])
def test_every_real_row_is_in_one_tile(lengths, rows, numbers):
    times = np.zeros((len(lengths), max(lengths)), dtype=int)
    for some, part in cut_rows(lengths, 4, 2, max(lengths), rows, numbers):
        assert part.stop - part.start <= rows
        times[some, part] += 1
    for place, length in enumerate(lengths):
        assert (times[place, :length] == 1).all()


def test_parts_are_even():
    assert [part.stop - part.start for part in cut_evenly(12, 7)] == [6, 6]
    assert [part.stop - part.start for part in cut_evenly(3, 0)] == [1, 1, 1]
    assert list(cut_evenly(0, 5)) == []
