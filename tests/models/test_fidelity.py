"""The observed network is the user's network, also beyond the lengths at which model files change their ways."""

from __future__ import annotations

import json

import pytest
import torch
import transformers

from headatlas.errors import ModelError
from headatlas.models import attention, inspection
from headatlas.models.loading import load_model
from headatlas.models.observing import observe_network

TOKENS, TOP = 40, 8  # more tokens than the indexer lets each token attend to
INDEXED = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "intermediate_size": 48,
    "moe_intermediate_size": 16,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "index_topk": TOP,
    "index_head_dim": 16,
    "index_n_heads": 16,  # few leave ties between tokens, which padding breaks in another way
    "max_position_embeddings": 64,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": None,
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """No result of another test, or of the machine's owner, is read or left."""
    monkeypatch.setenv("HEADATLAS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def indexed(tokenizer_of):
    """A tiny model with a sparse indexer, and its tokenizer."""

    def make(name):
        tokenizer = tokenizer_of("gpt2")
        config = getattr(transformers, f"{name}Config")(vocab_size=len(tokenizer), **INDEXED)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            network = getattr(transformers, f"{name}ForCausalLM")._from_config(config, attn_implementation="eager")
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter.normal_(std=0.3)
        return network.eval(), tokenizer

    return make


def states_of(run, vocabulary):
    ids = torch.randint(vocabulary, (1, TOKENS), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return run(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state


@pytest.mark.parametrize("name", ["DeepseekV32", "GlmMoeDsa"])
def test_a_sparse_index_is_kept_beyond_its_length(indexed, name):
    network, tokenizer = indexed(name)
    expected = states_of(network.base_model, len(tokenizer))
    model = observe_network(network, tokenizer)
    maps = []
    with attention.observing(model.network, lambda _module, weights, _mask: maps.append(weights)):
        observed = states_of(model.network.base_model, len(tokenizer))
    torch.testing.assert_close(observed, expected, atol=0, rtol=0)
    assert [int((weights[0, :, -1] > 0).sum(-1).max()) for weights in maps] == [TOP, TOP]
    assert model.source["compared_with_eager"]["tokens"] > TOP
    assert model.source["compared_with_eager"]["largest_difference"] == 0


@pytest.mark.parametrize("name", ["DeepseekV32", "GlmMoeDsa"])
def test_a_sparse_index_chooses_among_real_tokens(indexed, batch_for, name):
    model = observe_network(*indexed(name))

    def maps_of(batch):
        maps = []
        model.observe(batch, lambda _layer, weights, _mask: maps.append(weights.clone()))
        return torch.stack(maps)

    batch = batch_for(model)
    together = maps_of(batch)
    for row, segment in enumerate(batch.segments):
        alone = maps_of(batch_for(model, segments=[segment]))
        torch.testing.assert_close(together[:, row, :, : len(segment), : len(segment)], alone[:, 0])


@pytest.mark.parametrize("family", ["bert", "gpt2", "gemma2", "t5", "bart"])
def test_the_first_load_compares_and_the_second_reads(tiny_folder, tmp_path, monkeypatch, family):
    first = load_model(str(tiny_folder(family)), device="cpu").source["compared_with_eager"]
    assert first["largest_difference"] == 0
    assert first["tokens"] == inspection.USUAL_TOKENS
    assert len(list((tmp_path / "cache" / "fidelity").iterdir())) == 1
    monkeypatch.setattr(inspection, "_compare", None)
    assert load_model(str(tiny_folder(family)), device="cpu").source["compared_with_eager"] == first


def test_other_weights_or_another_way_to_run_them_are_compared_anew(save_tiny, tmp_path):
    folder = str(save_tiny("bert", seed=1))
    load_model(folder, device="cpu")
    load_model(folder, device="cpu", dtype="float64")
    load_model(str(save_tiny("bert", seed=2)), device="cpu")
    assert len(list((tmp_path / "cache" / "fidelity").iterdir())) == 3


def test_a_network_that_changes_when_observed_is_refused(tiny_folder, monkeypatch):
    attend = attention._EagerAttention.__call__

    def off(self, *arguments, **named):
        output, weights = attend(self, *arguments, **named)
        return output * 1.01, weights

    monkeypatch.setattr(attention._EagerAttention, "__call__", off)
    with pytest.raises(ModelError, match=r"differ by up to .* over 48 tokens"):
        load_model(str(tiny_folder("bert")), device="cpu")
    with pytest.raises(ModelError, match="differ by up to"):  # as the kept result says
        load_model(str(tiny_folder("bert")), device="cpu")


def test_off_the_interface_there_is_nothing_to_compare(tiny_folder):
    compared = load_model(str(tiny_folder("mpnet")), device="cpu").source["compared_with_eager"]
    assert compared == {"not_compared": "it is observed through output_attentions, which is plain eager attention"}


def test_a_damaged_or_unwritable_cache_does_no_harm(tiny_folder, tmp_path, monkeypatch):
    expected = load_model(str(tiny_folder("bert")), device="cpu").source["compared_with_eager"]
    (kept,) = (tmp_path / "cache" / "fidelity").iterdir()
    kept.write_text("{")
    assert load_model(str(tiny_folder("bert")), device="cpu").source["compared_with_eager"] == expected
    assert json.loads(kept.read_text()) == expected
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADATLAS_CACHE", str(tmp_path / "file"))
    assert load_model(str(tiny_folder("bert")), device="cpu").source["compared_with_eager"] == expected


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({}, (48, 48)),
        ({"sliding_window": 100}, (108, 108)),
        ({"text": {"attention_chunk_size": 100}, "window_layers": [1, 120]}, (128, 128)),
        ({"sliding_window": None, "chunked": True}, (48, 48)),
        ({"sliding_window": 4096}, (4104, 1024)),
    ],
)
def test_the_input_is_longer_than_every_size_named(load_tiny, monkeypatch, sizes, expected):
    model = load_tiny("llama")
    monkeypatch.setattr(inspection, "longest_input", lambda *_: None)
    monkeypatch.setattr(type(model.network.config), "to_dict", lambda _: sizes)
    assert inspection._length(model.network, model.tokenizer) == expected


def test_large_models_and_short_positions_bound_it(load_tiny, monkeypatch):
    model = load_tiny("llama")
    monkeypatch.setattr(inspection, "USUAL_TOKENS", 1000)
    assert inspection._length(model.network, model.tokenizer) == (64, 64)
    monkeypatch.setattr(inspection, "MOST_WORK", 1)
    assert inspection._length(model.network, model.tokenizer) == (64, inspection.FEWEST_TOKENS)
