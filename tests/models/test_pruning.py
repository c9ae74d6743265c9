"""Heads cut out of the weights: against gates in every family, saved and loaded, pruned again, damaged."""

from __future__ import annotations

import json
import shutil

import pytest
import torch

from headatlas.checksums import pack_json, unpack_json
from headatlas.errors import ModelError, SettingError
from headatlas.models.gates import gates_without
from headatlas.models.head_layouts import LAYOUTS, attention_blocks
from headatlas.models.loading import load_model
from headatlas.models.pruning import bound_heads, load_pruned, pruned_copy
from headatlas.models.sources import PRUNING_RECORD, read_pruning

CPU = torch.device("cpu")
LAYER_1, LAYER_2 = ([(layer, head) for head in (1, 2, 3, 4)] for layer in (1, 2))
FREE = [[(1, 2), (2, 1), (2, 3)], [*LAYER_1, (2, 4)], [*LAYER_2, (1, 1)]]  # uneven; each layer without heads
GROUPED = [[(1, 1), (1, 2)], LAYER_1, [*LAYER_2, (1, 3), (1, 4)]]
ALIKE = [[(1, 2), (2, 2)], [(layer, head) for layer in (1, 2) for head in (1, 2, 4)]]
FAMILIES = {
    **dict.fromkeys(("bert", "roberta", "distilbert", "electra", "xlm-roberta", "gpt2", "opt"), FREE),
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma2"), GROUPED),
    "albert": ALIKE,
}
CASES = [(family, number) for family, cases in FAMILIES.items() for number in range(len(cases))]


def logits(network, model, batch):
    with torch.no_grad():
        return network(**model.inputs(batch)).logits[batch.mask]


def saved(model, removed, folder):
    pruned_copy(model.network, removed, {"name": model.name}, model.name).save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    return folder


def test_every_layout_is_tested():
    assert len(FAMILIES) == len(LAYOUTS)


@pytest.mark.parametrize(("family", "number"), CASES)
def test_a_pruned_network_computes_what_gates_compute(family, number, load_tiny, batch_for, tmp_path):
    model, removed = load_tiny(family), FAMILIES[family][number]
    batch, whole = batch_for(model), model.network.num_parameters()
    shape = model.shapes[model.default_stack]
    with model.gated(gates_without(removed, shape, family, CPU)):
        gated = logits(model.network, model, batch)
    assert (gated - logits(model.network, model, batch)).abs().max() > 1e-3
    smaller = pruned_copy(model.network, removed, {"name": family}, family)
    assert model.network.num_parameters() == whole, "the original is left as it was"
    torch.testing.assert_close(logits(smaller, model, batch), gated, atol=5e-5, rtol=1e-4)

    smaller.save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    again = load_model(str(tmp_path), device="cpu")
    assert type(again.network).__name__ == type(model.network).__name__
    left = tuple(4 - sum(layer == of for of, _ in removed) for layer in (1, 2))
    assert again.shapes[again.default_stack].heads == left
    assert again.language_model == model.language_model
    torch.testing.assert_close(logits(again.network, model, batch), gated, atol=5e-5, rtol=1e-4)
    plain = load_pruned(tmp_path)
    torch.testing.assert_close(logits(plain, model, batch), gated, atol=5e-5, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_head_takes_its_own_parameters_with_it(family, load_tiny):
    model = load_tiny(family)
    blocks = attention_blocks(model.network, family)
    together = bound_heads(blocks)[0]
    smaller = pruned_copy(model.network, together, {}, family)
    gone = model.network.num_parameters() - smaller.num_parameters()
    biases = {"llama": 0, "mistral": 0, "qwen3": 0, "gemma2": 0, "qwen2": 4 * 8}.get(family, 3 * 8)
    weights = 4 * 32 * 8 if blocks[0].group == 1 else (2 + 1 + 1 + 2) * 32 * 8
    assert gone == blocks[0].parameters_of_a_group == weights + biases


@pytest.mark.parametrize("family", ["gpt2", "opt", "llama"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_pruned_decoder_generates_what_it_generates_without_a_cache(family, number, load_tiny, tmp_path):
    model = load_tiny(family)
    network = load_pruned(saved(model, FAMILIES[family][number], tmp_path))
    inputs = model.tokenizer("the old man", return_tensors="pt", return_token_type_ids=False)
    usual = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    assert torch.equal(network.generate(**inputs, **usual), network.generate(**inputs, use_cache=False, **usual))
    keeps_keys = network(**inputs).past_key_values is not None
    assert keeps_keys == (number != 1), "a first layer without heads cannot tell how long its cache is"


def test_pruning_again_keeps_the_numbers_of_the_base(load_tiny, batch_for, tmp_path):
    model = load_tiny("bert")
    batch = batch_for(model)
    once = load_model(str(saved(model, [(1, 2), (2, 1)], tmp_path / "once")), device="cpu")
    assert once.source["kept_heads"] == [[1, 3, 4], [2, 3, 4]]
    twice = saved(once, [(1, 2), (2, 3)], tmp_path / "twice")  # 1-3 and 2-4 of the base
    assert read_pruning(twice).kept_heads == ((1, 4), (2, 3))
    assert read_pruning(twice).base == {"name": model.name}
    with model.gated(gates_without([(1, 2), (1, 3), (2, 1), (2, 4)], model.shapes["encoder"], "bert", CPU)):
        gated = logits(model.network, model, batch)
    torch.testing.assert_close(logits(load_pruned(twice), model, batch), gated, atol=5e-5, rtol=1e-4)


def test_a_pruned_network_that_is_trained_on_and_saved_loads_again(load_tiny, batch_for, tmp_path):
    model = load_tiny("bert")
    batch = batch_for(model)
    network = load_pruned(saved(model, [(1, 2)], tmp_path / "pruned"))
    with torch.no_grad():
        network.bert.encoder.layer[0].attention.self.query.weight.mul_(1.1)
    network.save_pretrained(tmp_path / "tuned")
    assert torch.equal(logits(load_pruned(tmp_path / "tuned"), model, batch), logits(network, model, batch))


def test_the_control_of_a_pruned_model_has_its_heads(load_tiny, tmp_path):
    folder = saved(load_tiny("bert"), [(1, 2)], tmp_path)
    control = load_model(str(folder), device="cpu", random_weights="fresh")
    assert control.shapes["encoder"].heads == (3, 4)


@pytest.mark.parametrize(
    ("family", "removed", "said"),
    [
        ("llama", [(1, 1)], "head 1-1 shares weights with 1-2"),
        ("albert", [(1, 3)], "head 1-3 shares weights with 2-3"),
        ("bert", [*LAYER_1, *LAYER_2], "all of its heads"),
    ],
)
def test_heads_that_cannot_go(family, removed, said, load_tiny):
    with pytest.raises(SettingError, match=said):
        pruned_copy(load_tiny(family).network, removed, {}, family)


@pytest.mark.parametrize("family", ["modernbert", "gpt-neox", "gpt-oss", "mpnet", "deberta-v2", "xlnet"])
def test_other_families_are_refused(family, load_tiny):
    with pytest.raises(ModelError, match=r"cannot be cut out.*BERT, RoBERTa.*GPT-2"):
        pruned_copy(load_tiny(family).network, [(1, 1)], {}, family)


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_encoder_decoders_are_refused(family, load_tiny):
    with pytest.raises(ModelError, match="from a decoder to an encoder"):
        pruned_copy(load_tiny(family).network, [(1, 1)], {}, family)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda record: record | {"format": "else"}, "not the record of a pruned model"),
        (lambda record: record | {"kept_heads": [[1, 1], [2]]}, "rising from 1"),
        (lambda record: record | {"kept_heads": [[0], [2]]}, "rising from 1"),
        (lambda record: record | {"kept_heads": [["1"], [2]]}, "rising from 1"),
        (lambda record: record | {"kept_heads": 3}, "rising from 1"),
        (lambda record: record | {"base": None}, "base must be an object"),
        (lambda record: record | {"kept_heads": [[1, 3, 4]]}, "of 1 layers"),
        (lambda record: record | {"kept_heads": [[1, 3, 9], [1, 2, 3, 4]]}, "Head 1-9 is kept"),
        (lambda record: record | {"kept_heads": [[1, 3], [1, 2, 3, 4]]}, "another size"),
        (lambda record: [], "not the record of a pruned model"),
    ],
)
def test_a_damaged_record_is_said(change, said, load_tiny, tmp_path):
    path = saved(load_tiny("bert"), [(1, 2)], tmp_path) / PRUNING_RECORD
    changed = change(unpack_json(path.read_text()))
    path.write_text(pack_json(changed) if changed else json.dumps(changed))
    with pytest.raises(ModelError, match=said):
        load_model(str(tmp_path), device="cpu")


@pytest.mark.parametrize("load", [load_pruned, lambda folder: load_model(str(folder), device="cpu")])
def test_the_record_belongs_to_the_weights(load_tiny, tmp_path, load):
    folder = saved(load_tiny("bert"), [(1, 2)], tmp_path / "one")
    other = saved(load_tiny("bert"), [(1, 3)], tmp_path / "other")
    path = folder / PRUNING_RECORD
    written = path.read_text()
    record = json.loads(written)
    assert record["kept_heads"] == [[1, 3, 4], [1, 2, 3, 4]]
    path.write_text(json.dumps(record | {"kept_heads": [[1, 2, 4], [1, 2, 3, 4]]}))
    with pytest.raises(ModelError, match="changed since it was written, so it may name other heads"):
        load(folder)
    path.write_text(written)
    shutil.copy(other / "model.safetensors", folder)
    with pytest.raises(ModelError, match=r"weights are not those that headatlas_pruning\.json was written for"):
        load(folder)


def test_a_folder_that_is_not_pruned(tiny_folder, tmp_path):
    with pytest.raises(ModelError, match="not a pruned model"):
        load_pruned(tiny_folder("bert"))
    (tmp_path / PRUNING_RECORD).write_text("{")
    with pytest.raises(ModelError, match="cannot be read"):
        read_pruning(tmp_path)
