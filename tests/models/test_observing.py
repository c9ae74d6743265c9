"""Observing leaves transformers and the user's own network as they were."""

from __future__ import annotations

import copy
import sys

import pytest
import torch
import transformers

import headatlas as ha
from headatlas.encoding.masking import Masker
from headatlas.errors import ModelError, SettingError
from headatlas.models.loading import load_model
from headatlas.models.observing import observe_network


def state_of(network):
    """Everything that a training loop relies on."""
    return {
        "training": [module.training for module in network.modules()],
        "gradients": [(parameter.requires_grad, parameter.grad is None) for parameter in network.parameters()],
        "parameters": [id(parameter) for parameter in network.parameters()],
        "weights": {name: tensor.clone() for name, tensor in network.state_dict().items()},
        "config": copy.deepcopy(vars(network.config)),
        "hooks": [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in network.modules()],
    }


@pytest.mark.parametrize("family", ["bert", "gemma2", "gpt-oss", "t5", "mpnet"])
def test_another_model_of_the_family_gives_the_same_as_before(
    tiny_models, tiny_folder, tokenizer_of, batch_for, family
):
    other = tiny_models[family](seed=5)
    file = sys.modules[type(other).__module__]
    before = vars(file).copy(), dict(transformers.AttentionInterface._global_mapping)
    masks = dict(transformers.AttentionMaskInterface._global_mapping)
    model = load_model(str(tiny_folder(family)), device="cpu")
    batch = batch_for(model)
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.mask.long()}
    if model.is_encoder_decoder:
        inputs["decoder_input_ids"] = batch.input_ids
    key = "logits"
    with torch.no_grad():
        expected = other(**inputs)[key]
        inside = []
        model.observe(batch, lambda *_: None)
        model.observe(batch, lambda *_: None, see_states=inside.append)
        again = other(**inputs)[key]
    assert inside
    torch.testing.assert_close(again, expected, atol=0, rtol=0)
    assert (vars(file), dict(transformers.AttentionInterface._global_mapping)) == before
    assert dict(transformers.AttentionMaskInterface._global_mapping) == masks


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_a_network_in_memory_stays_as_it_was(tiny_models, tokenizer_of, batch_for, tmp_path, implementation):
    network = tiny_models["bert"]().train()
    network.set_attn_implementation(implementation)
    network.config.return_dict = False
    network.bert.embeddings.requires_grad_(False)
    before = state_of(network)
    model = observe_network(network, tokenizer_of("wordpiece"), name="mine", language_model="masked")
    batch = batch_for(model)
    model.observe(batch, lambda *_: None, see_states=lambda _: None)
    model.observe_gradients(batch, lambda *_: None, Masker(model.tokenizer, seed=0))
    with model.gated(torch.zeros(2, 4)):
        model.network(**model.inputs(batch))
    (tmp_path / "text.txt").write_text("the old man saw a little dog.\nthe dog ran by the river.\n\n" * 20)
    ha.survey(model, text=tmp_path / "text.txt", segments=2, max_tokens=16, out=tmp_path / "out")
    after = state_of(network)
    torch.testing.assert_close(after.pop("weights"), before.pop("weights"), atol=0, rtol=0)
    assert after == before
    assert network.config._attn_implementation == implementation


def test_training_goes_on_and_is_seen(tiny_models, tokenizer_of, batch_for):
    network = tiny_models["bert"]().train()
    model = observe_network(network, tokenizer_of("wordpiece"))
    batch = batch_for(model)

    def maps():
        found = []
        model.observe(batch, lambda _layer, weights, _mask: found.append(weights.clone()))
        return torch.stack(found)

    before = maps()
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    network(input_ids=batch.input_ids, attention_mask=batch.mask.long()).logits.sum().backward()
    optimiser.step()
    assert not torch.allclose(maps(), before)
    expected = copy.deepcopy(network).eval()
    expected.set_attn_implementation("eager")
    with torch.no_grad():
        inputs = {"input_ids": batch.input_ids, "attention_mask": batch.mask.long(), "token_type_ids": batch.type_ids}
        plain = torch.stack(expected(**inputs, output_attentions=True).attentions)
    torch.testing.assert_close(maps(), plain)


def test_a_network_in_memory_needs_no_name(tiny_models, tokenizer_of, tiny_folder):
    assert observe_network(tiny_models["bert"](), tokenizer_of("wordpiece")).name == "BertForMaskedLM"
    loaded = transformers.AutoModel.from_pretrained(tiny_folder("bert"))
    assert observe_network(loaded, tokenizer_of("wordpiece")).name == str(tiny_folder("bert"))


CALLS = {
    "survey": lambda network, files: ha.survey(network, text=files / "text.txt", out=files / "out"),
    "extract": lambda network, files: ha.extract(network, text=files / "text.txt", out=files / "out"),
    "ablate": lambda network, files: ha.ablate(network, task="masked-lm", text=files / "text.txt", out=files / "out"),
    "prune": lambda network, files: ha.prune(network, heads=["1-1"], out=files / "out"),
    "probe": lambda network, files: ha.probe(
        network, treebank=files / "a.conllu", eval=files / "b.conllu", out=files / "out"
    ),
    "layers": lambda network, files: ha.layers(
        network, task="pos", train=files / "a.conllu", eval=files / "b.conllu", out=files / "out"
    ),
    "keyphrases": lambda network, files: ha.keyphrases(network, text=files / "text.txt", out=files / "out"),
    "draw": lambda network, _: ha.draw(network, "the dog", head="1-1"),
    "head_view": lambda network, _: ha.head_view(network, "the dog"),
}


@pytest.mark.parametrize("function", list(CALLS))
def test_a_bare_network_asks_for_its_tokenizer(tiny_models, tmp_path, function):
    (tmp_path / "text.txt").write_text("the dog ran.\nthe cat sat.\n")
    for name in ("a", "b"):
        tree = f"1\t{name}\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
        (tmp_path / f"{name}.conllu").write_text(tree)
    with pytest.raises(SettingError, match=r"BertForMaskedLM comes without its tokenizer.*\(network, tokenizer\)"):
        CALLS[function](tiny_models["bert"](), tmp_path)


@pytest.mark.parametrize("as_pair", [False, True])
def test_a_network_is_surveyed_with_its_tokenizer_and_given_back_as_it_was(
    tiny_models, tokenizer_of, tmp_path, monkeypatch, as_pair
):
    monkeypatch.chdir(tmp_path)
    network, tokenizer = tiny_models["bert"]().train(), tokenizer_of("wordpiece")
    network.bert.embeddings.requires_grad_(False)
    before = state_of(network)
    given = {"model": (network, tokenizer)} if as_pair else {"model": network, "tokenizer": tokenizer}
    documents = ["the old man saw a little dog. the dog ran.", "she sat by the river. it was night."]
    atlas = ha.survey(**given, text=documents, studies="positions,gradients", max_tokens=16, progress=False)
    assert atlas.folder.name == "atlas-BertForMaskedLM"
    assert atlas.manifest["model"]["language_model"] == "masked"  # as the class says
    assert {"positions", "gradients"} <= set(atlas.tables)
    after = state_of(network)
    torch.testing.assert_close(after.pop("weights"), before.pop("weights"), atol=0, rtol=0)
    assert after == before


def test_a_tokenizer_goes_with_a_network_alone(load_tiny, tokenizer_of):
    with pytest.raises(SettingError, match="Remove tokenizer"):
        ha.draw(load_tiny("bert"), "the dog", head="1-1", tokenizer=tokenizer_of("wordpiece"))
    with pytest.raises(SettingError, match=r"dict is not a model\. Give a name"):
        ha.draw({}, "the dog", head="1-1")


def test_a_network_with_weights_on_disk_is_loaded_by_name(tiny_folder, tokenizer_of, tmp_path):
    pytest.importorskip("accelerate")
    places = dict.fromkeys(("model.embed_tokens", "model.layers.0", "model.norm", "model.rotary_emb", "lm_head"), "cpu")
    network = transformers.AutoModelForCausalLM.from_pretrained(
        tiny_folder("llama"), device_map=places | {"model.layers.1": "disk"}, offload_folder=tmp_path
    )
    with pytest.raises(ModelError, match=r"not in memory .*load_model\(name, device_map"):
        observe_network(network, tokenizer_of("gpt2"))


def test_a_spread_network_in_memory_has_its_maps(tiny_folder, tokenizer_of, load_tiny, batch_for):
    pytest.importorskip("accelerate")
    network = transformers.AutoModelForCausalLM.from_pretrained(tiny_folder("llama"), device_map={"": "cpu"})
    maps = []
    for model in (observe_network(network, tokenizer_of("gpt2")), load_tiny("llama")):
        found = []
        model.observe(batch_for(model), lambda _layer, weights, _mask, found=found: found.append(weights.clone()))
        maps.append(torch.stack(found))
    torch.testing.assert_close(*maps)
