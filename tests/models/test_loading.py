"""Loading: what a folder may lack or spoil, and that each is said in words; never a silent random weight."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file

import headatlas as ha
from headatlas.commands.explore.live import Explorer
from headatlas.errors import ModelError, SettingError
from headatlas.models.facts import check_length
from headatlas.models.loading import choose_device, load_model
from headatlas.models.model import Model
from tests.conftest import LONGEST
from tests.models.altering import CopyOf, Save, change_config, change_tensors, load

# --- whole folders ----------------------------------------------------------------------------------------------


def test_a_folder_loads_with_what_it_is(tiny_folder: Callable[[str], Path]) -> None:
    folder = tiny_folder("bert")
    model = load(folder)
    assert str(model.shapes["encoder"]) == "2 layers x 4 heads"
    assert model.default_stack == "encoder"
    assert model.dtype == next(model.network.parameters()).dtype == torch.float32
    assert not model.network.training
    assert model.source["kind"] == "folder"
    assert model.source["class"] == "BertForMaskedLM"
    assert model.source["parameters"] == sum(tensor.numel() for tensor in model.network.parameters())
    assert list(model.source["weights_sha256"]) == ["model.safetensors"]
    stored = load_file(folder / "model.safetensors")
    for name, tensor in stored.items():
        torch.testing.assert_close(model.network.state_dict()[name], tensor, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("bert", "masked"),
        ("deberta-v2", "masked"),
        ("gpt2", "causal"),
        ("llama", "causal"),
        ("t5", None),
        ("bart", None),
    ],
)
def test_the_language_model_head_is_known(family: str, expected: str | None, load_tiny: Callable[[str], Model]) -> None:
    assert load_tiny(family).language_model == expected


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_a_bare_network_has_no_head(family: str, save_tiny: Save) -> None:
    model = load(save_tiny(family, head=False))
    assert model.language_model is None
    assert model.shapes


def test_missing_head_tensors_leave_the_network(copy_of_tiny: CopyOf, caplog: pytest.LogCaptureFixture) -> None:
    folder = change_tensors(copy_of_tiny("bert"), lambda t: [t.pop(k) for k in list(t) if k.startswith("cls.")])
    with caplog.at_level(logging.WARNING):
        model = load(folder)
    assert model.language_model is None
    assert type(model.network).__name__ == "BertModel"
    assert "head is missing" in caplog.text


def test_a_next_token_head_on_attention_that_sees_it_is_no_language_model(load_tiny: Callable[[str], Model]) -> None:
    model = load_tiny("xlnet")
    assert type(model.network).__name__ == "XLNetLMHeadModel"
    assert model.language_model is None


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_settings_about_outputs_do_not_matter(family: str, copy_of_tiny: CopyOf, batch_for: Callable[..., Any]) -> None:
    model = load(change_config(copy_of_tiny(family), return_dict=False, output_attentions=True))
    layers: list[int] = []
    model.observe(batch_for(model), lambda layer, *_: layers.append(layer))
    assert layers == [0, 1]


# --- folders that lack something --------------------------------------------------------------------------------


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        load(tmp_path / "nowhere")


def test_a_folder_without_config(copy_of_tiny: CopyOf) -> None:
    folder = copy_of_tiny("bert")
    (folder / "config.json").unlink()
    with pytest.raises(ModelError, match=r"no config\.json"):
        load(folder)


def test_a_folder_without_weights(copy_of_tiny: CopyOf) -> None:
    folder = copy_of_tiny("bert")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="no weights"):
        load(folder)


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "t5", "mpnet", "llama"])
def test_a_folder_without_tokenizer(family: str, copy_of_tiny: CopyOf) -> None:
    """transformers makes up a tokenizer of a few special tokens there, without a word."""
    folder = copy_of_tiny(family)
    for path in folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(ModelError, match="tokenizer"):
        load(folder)


@pytest.mark.parametrize(
    ("family", "tensor"),
    [
        ("bert", "bert.encoder.layer.1.attention.self.value.weight"),
        ("bert", "bert.embeddings.word_embeddings.weight"),
        ("gpt2", "transformer.h.0.attn.c_attn.bias"),
        ("t5", "decoder.block.1.layer.1.EncDecAttention.q.weight"),
    ],
)
def test_a_missing_tensor_is_an_error(family: str, tensor: str, copy_of_tiny: CopyOf) -> None:
    folder = change_tensors(copy_of_tiny(family), lambda tensors: tensors.pop(tensor))
    with pytest.raises(ModelError, match=r"missing from the weights .*" + tensor.split(".", 1)[1].replace(".", r"\.")):
        load(folder)


def test_more_layers_in_the_config_than_in_the_weights(copy_of_tiny: CopyOf) -> None:
    with pytest.raises(ModelError, match=r"16 of the network's tensors are missing"):
        load(change_config(copy_of_tiny("bert"), num_hidden_layers=3))


@pytest.mark.parametrize(("family", "name"), [("bert", "num_hidden_layers"), ("t5", "num_decoder_layers")])
@pytest.mark.parametrize("pickled", [False, True])
def test_a_million_layers_are_not_built(family: str, name: str, pickled: bool, copy_of_tiny: CopyOf) -> None:
    folder = change_config(copy_of_tiny(family), **{name: 10**6})
    if pickled:
        torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="names 1,000,000 layers"):
        load(folder)


def test_a_missing_shard(copy_of_tiny: CopyOf, load_tiny: Callable[[str], Model]) -> None:
    folder = copy_of_tiny("bert")
    (folder / "model.safetensors").unlink()
    load_tiny("bert").network.save_pretrained(folder, max_shard_size="20KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 1
    assert load(folder).shapes
    shards[-1].unlink()
    with pytest.raises(ModelError, match="cannot be loaded"):
        load(folder)


# --- folders that are damaged -----------------------------------------------------------------------------------


def test_truncated_weights(copy_of_tiny: CopyOf) -> None:
    folder = copy_of_tiny("bert")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(ModelError, match="undamaged"):
        load(folder)


def test_config_that_is_not_json(copy_of_tiny: CopyOf) -> None:
    folder = copy_of_tiny("bert")
    (folder / "config.json").write_text("{model_type: bert")
    with pytest.raises(ModelError, match="not a valid JSON"):
        load(folder)


def test_an_unknown_architecture(copy_of_tiny: CopyOf) -> None:
    with pytest.raises(ModelError, match="perceptron"):
        load(change_config(copy_of_tiny("bert"), model_type="perceptron"))


def test_sizes_that_are_not_those_of_the_config(copy_of_tiny: CopyOf) -> None:
    with pytest.raises(ModelError, match=r"word_embeddings\.weight is \[125, 32\], not \[5000, 32\]"):
        load(change_config(copy_of_tiny("bert"), vocab_size=5000))


def test_the_tokenizer_of_another_model(copy_of_tiny: CopyOf, tiny_folder: Callable[[str], Path]) -> None:
    folder = copy_of_tiny("bert")
    shutil.copy(tiny_folder("gpt2") / "tokenizer.json", folder / "tokenizer.json")
    with pytest.raises(ModelError, match="belong to another model"):
        load(folder)


def test_a_slow_tokenizer_is_refused_where_words_matter(tmp_path: Path) -> None:
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
    tokenizer = transformers.ByT5Tokenizer()
    network = transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=len(tokenizer), **sizes))
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = load(tmp_path)
    (tmp_path / "text.txt").write_text("the dog ran.\nthe cat sat.\n")
    with pytest.raises(ModelError, match="slow tokenizer"):
        ha.survey(model, text=tmp_path / "text.txt", out=tmp_path / "atlas")
    with pytest.raises(ModelError, match="slow tokenizer"):
        ha.draw(model, "the dog ran", head="1-1")
    with pytest.raises(ModelError, match="slow tokenizer"):
        Explorer(model, "encoder")


# --- settings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", torch.float64])
def test_the_number_type_is_that_asked_for(dtype: str | torch.dtype, tiny_folder: Callable[[str], Path]) -> None:
    model = load(tiny_folder("bert"), dtype=dtype)
    assert str(model.dtype) == str(model.network.dtype) == f"torch.{str(dtype).removeprefix('torch.')}"


def test_an_unknown_number_type(tiny_folder: Callable[[str], Path]) -> None:
    with pytest.raises(SettingError, match="float32, bfloat16"):
        load(tiny_folder("bert"), dtype="int9")


def test_a_number_type_the_network_cannot_use(tiny_folder: Callable[[str], Path]) -> None:
    with pytest.raises(ModelError, match=r"GptOssForCausalLM cannot run .* torch\.float64"):
        load(tiny_folder("gpt-oss"), dtype="float64")


def test_unavailable_devices() -> None:
    if not torch.cuda.is_available():
        with pytest.raises(SettingError, match="--device cuda"):
            choose_device("cuda")
    with pytest.raises(SettingError, match="--device abacus"):
        choose_device("abacus")
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("auto").type in ("cpu", "cuda", "mps")


def test_code_of_a_model_runs_only_if_asked(copy_of_tiny: CopyOf, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    folder = copy_of_tiny("bert")
    (folder / "own.py").write_text(
        f"open({str(ran)!r}, 'w')\n"
        "from transformers import BertConfig, BertForMaskedLM\n"
        "class OwnConfig(BertConfig):\n    model_type = 'own'\n"
        "class OwnForMaskedLM(BertForMaskedLM):\n    config_class = OwnConfig\n"
    )
    auto = {
        "AutoConfig": "own.OwnConfig",
        "AutoModelForMaskedLM": "own.OwnForMaskedLM",
        "AutoModel": "own.OwnForMaskedLM",
    }
    change_config(folder, model_type="own", auto_map=auto, architectures=["OwnForMaskedLM"])
    with pytest.raises(ModelError, match="--trust-remote-code"):
        load(folder)
    assert not ran.exists()
    assert load(folder, trust_remote_code=True).shapes["encoder"].layers == 2
    assert ran.exists()


def test_a_pickle_that_could_run_code_is_refused_in_our_words(copy_of_tiny: CopyOf, tmp_path: Path) -> None:
    class Code:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "ran",)

    folder = copy_of_tiny("bert")
    (folder / "model.safetensors").unlink()
    torch.save({"bert.embeddings.word_embeddings.weight": Code()}, folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="could run code on this machine") as caught:
        load(folder)
    assert "weights_only" not in str(caught.value)
    assert not (tmp_path / "ran").exists()


def test_a_name_that_is_nowhere() -> None:
    with pytest.raises(ModelError, match="embedded, embedded-mlm, embedded-decoder"):
        load_model("no-such/model")


# --- how long an input may be -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "positions", "expected"),
    [
        ("bert", {"max_position_embeddings": 512}, 512),
        ("roberta", {"max_position_embeddings": 514}, 512),
        ("xlm-roberta", {"max_position_embeddings": 514}, 512),
        ("mpnet", {"max_position_embeddings": 514}, 512),
        ("distilbert", {"max_position_embeddings": 512}, 512),
        ("modernbert", {"max_position_embeddings": 8192}, 8192),
        ("opt", {"max_position_embeddings": 128}, 128),
        ("gpt2", {"n_positions": 128}, 128),
        ("llama", {"max_position_embeddings": 2048}, 2048),
        ("bart", {"max_position_embeddings": 128}, 128),
        ("t5", {}, None),
        ("xlnet", {}, None),
    ],
)
def test_longest_input(family: str, positions: dict[str, int], expected: int | None, save_tiny: Save) -> None:
    model = load(save_tiny(family, **positions))
    assert model.longest_input == expected
    if family not in ("modernbert", "llama", "t5", "xlnet"):
        assert expected is not None
        ids = torch.full((1, expected), 10)
        extra = {"decoder_input_ids": ids} if family == "bart" else {}
        model.network(input_ids=ids, **extra)
        more = torch.full((1, expected + 1), 10)
        extra = {"decoder_input_ids": more} if family == "bart" else {}
        with pytest.raises((IndexError, RuntimeError)):
            model.network(input_ids=more, attention_mask=torch.ones_like(more), **extra)


def test_the_tokenizer_may_set_a_shorter_limit(copy_of_tiny: CopyOf) -> None:
    folder = copy_of_tiny("t5")
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_max_length": 48}))
    assert load(folder).longest_input == 48


@pytest.mark.parametrize("family", ["bert", "gpt2", "opt"])
def test_positions_in_a_table_end(family: str, load_tiny: Callable[[str], Model]) -> None:
    model = load_tiny(family)
    check_length(LONGEST, model.network, model.tokenizer, model.name)
    with pytest.raises(SettingError, match=f"more than the {LONGEST} positions"):
        check_length(LONGEST + 1, model.network, model.tokenizer, model.name)


@pytest.mark.parametrize("family", ["llama", "modernbert"])
def test_computed_positions_go_on_with_a_warning(
    family: str, load_tiny: Callable[[str], Model], caplog: pytest.LogCaptureFixture
) -> None:
    model = load_tiny(family)
    check_length(2 * LONGEST, model.network, model.tokenizer, model.name)
    assert "an extrapolation" in caplog.text
    model.network(input_ids=torch.full((1, 2 * LONGEST), 10))


# --- the random-weights control ---------------------------------------------------------------------------------


# --- threads ----------------------------------------------------------------------------------------------------
