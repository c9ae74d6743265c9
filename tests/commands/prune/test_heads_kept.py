"""Whatever a checkpoint is saved as, question answering, language model, GGUF: pruning keeps all of it or says so."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import load_file, save_file

from headatlas.commands.prune.options import prune
from headatlas.corpora.sample import sample_text
from headatlas.errors import ModelError, SettingError
from headatlas.models.gates import gates_without
from headatlas.models.loading import load_model
from headatlas.models.pruning import load_pruned
from typed import typed

CPU = torch.device("cpu")
ON_CPU = {"device": "cpu", "progress": False}
REMOVED = {"bert": ["1-2", "2-1", "2-4"], "gpt2": ["1-1", "2-3"], "llama": ["1-1", "1-2"]}
CLASSES = [
    ("bert", "BertForQuestionAnswering"),
    ("bert", "BertForTokenClassification"),
    ("bert", "BertForSequenceClassification"),
    ("bert", "BertForMaskedLM"),
    ("bert", "BertForPreTraining"),
    ("bert", "BertForMultipleChoice"),
    ("bert", "BertModel"),
    ("gpt2", "GPT2LMHeadModel"),
    ("gpt2", "GPT2ForTokenClassification"),
    ("llama", "LlamaForCausalLM"),
    ("llama", "LlamaForTokenClassification"),
]


@pytest.fixture
def checkpoint(load_tiny, tmp_path):
    """Saves a tiny network of any class with its family's tokenizer."""

    def save(family, name):
        model, folder = load_tiny(family), tmp_path / name
        config = copy.deepcopy(model.network.config)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            network = getattr(transformers, name)(config)
            with torch.no_grad():
                for parameter in network.parameters():
                    parameter.add_(0.2 * torch.randn_like(parameter))
        network.save_pretrained(folder)
        model.tokenizer.save_pretrained(folder)
        return folder

    return save


def numbers(network, family, name, tokenizer):
    """Every number that a network gives for a text."""
    inputs = dict(tokenizer("the old man saw a dog", return_tensors="pt", return_token_type_ids=False))
    if "MultipleChoice" in name:
        inputs = {key: part[:, None] for key, part in inputs.items()}
    with torch.no_grad():
        found = network(**inputs, **({"use_cache": False} if family != "bert" else {}))
    return {key: part for key, part in found.items() if torch.is_tensor(part)}


@pytest.mark.parametrize(("family", "name"), CLASSES)
def test_the_head_is_kept(family, name, checkpoint, tmp_path):
    folder = checkpoint(family, name)
    pruned = prune(str(folder), heads=REMOVED[family], out=tmp_path / "out", **ON_CPU)
    assert json.loads((pruned.folder / "config.json").read_text())["architectures"] == [name]
    model = load_model(str(folder), device="cpu", as_saved=True)
    assert type(model.network).__name__ == name
    removed = [tuple(map(int, head.split("-"))) for head in REMOVED[family]]
    with model.gated(gates_without(removed, model.shapes[model.default_stack], name, CPU)):
        gated = numbers(model.network, family, name, model.tokenizer)
    after = numbers(load_pruned(pruned.folder), family, name, model.tokenizer)
    assert gated.keys() == after.keys() != set()
    for key, part in gated.items():
        torch.testing.assert_close(after[key], part, atol=5e-5, rtol=1e-4)
    before, saved = (set(load_file(one / "model.safetensors")) for one in (folder, pruned.folder))
    assert before == saved, "every tensor of the checkpoint is there"
    kinds = {"BertForMaskedLM": "masked", "BertForPreTraining": "masked"}
    kinds |= {"GPT2LMHeadModel": "causal", "LlamaForCausalLM": "causal"}
    assert pruned.load(device="cpu").language_model == kinds.get(name)


def test_pruned_again_the_head_is_still_there(checkpoint, tmp_path):
    folder = checkpoint("bert", "BertForQuestionAnswering")
    once = prune(str(folder), heads=["1-1"], out=tmp_path / "once", **ON_CPU)
    twice = prune(str(once.folder), heads=["1-1"], out=tmp_path / "twice", **ON_CPU)
    assert twice.manifest["saved_as"] == "BertForQuestionAnswering"
    assert twice.manifest["kept_heads"] == [[3, 4], [1, 2, 3, 4]]
    weight = "qa_outputs.weight"
    assert np.array_equal(*(load_file(one / "model.safetensors")[weight] for one in (folder, twice.folder)))


def test_importance_of_a_checkpoint_with_two_heads(checkpoint, tmp_path):
    """The next-sentence head is kept, though the importance is that of the masked language model."""
    options = {"by": "importance", "share": 0.25, "text": sample_text(), "examples": 4, "max_tokens": 64, **ON_CPU}
    pruned = prune(str(checkpoint("bert", "BertForPreTraining")), out=tmp_path / "out", **options)
    assert pruned.manifest["saved_as"] == "BertForPreTraining"
    assert pruned.manifest["corpora"]["text"]["task"] == "masked-lm"
    with pytest.raises(ModelError, match="needs a masked language model"):
        prune(str(checkpoint("bert", "BertForTokenClassification")), out=tmp_path / "none", **options)


def test_tensors_that_the_class_has_no_place_for_are_named(checkpoint, tmp_path):
    folder = checkpoint("bert", "BertForMaskedLM")
    tensors = load_file(folder / "model.safetensors") | {"cls.seq_relationship.weight": np.zeros((2, 32), np.float32)}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    done = typed("prune", folder, "--heads", "1-2", "--out", tmp_path / "out", "--device", "cpu")
    assert done.exit_code == 0, done.output
    assert "Not saved" in done.output
    assert "cls.seq_relationship.weight" in done.output


def test_a_class_that_nobody_knows_is_refused(copy_of_tiny, tmp_path):
    folder = copy_of_tiny("bert")
    config = json.loads((folder / "config.json").read_text()) | {"architectures": ["NobodysBert"]}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"names no class of transformers .'NobodysBert'"):
        prune(str(folder), heads=["1-1"], out=tmp_path / "out", **ON_CPU)
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def gguf_file(tokenizer_of, tmp_path_factory):
    """A Llama of two layers with two groups of two heads, in llama.cpp's format."""
    gguf = pytest.importorskip("gguf")
    path, dice = tmp_path_factory.mktemp("gguf") / "tiny.gguf", np.random.default_rng(0)
    backend = json.loads(tokenizer_of("gpt2").backend_tokenizer.to_str())["model"]
    tokens = sorted(backend["vocab"], key=backend["vocab"].get)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_feed_forward_length(48)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(8)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * len(tokens))
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in backend["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    shapes = {"token_embd": (len(tokens), 32), "output": (len(tokens), 32), "output_norm": (32,)}
    for layer in range(2):
        sizes = {"attn_q": (32, 32), "attn_k": (16, 32), "attn_v": (16, 32), "attn_output": (32, 32)}
        sizes |= {"ffn_gate": (48, 32), "ffn_up": (48, 32), "ffn_down": (32, 48), "attn_norm": (32,), "ffn_norm": (32,)}
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in sizes.items()}
    for name, shape in shapes.items():
        drawn = dice.normal(size=shape).astype(np.float32)
        writer.add_tensor(f"{name}.weight", 0.3 * drawn if len(shape) > 1 else 1 + 0.1 * drawn)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_file_is_pruned_saved_and_loaded_again(gguf_file, tmp_path):
    pruned = prune(str(gguf_file), heads=["1-1", "1-2"], out=tmp_path / "out", **ON_CPU)
    assert pruned.manifest["saved_as"] == "LlamaForCausalLM"
    assert "quantization_config" not in json.loads((pruned.folder / "config.json").read_text())
    model, again = load_model(str(gguf_file), device="cpu"), pruned.load(device="cpu")
    assert again.shapes["decoder"].heads == (2, 4)
    assert again.language_model == "causal"
    with model.gated(gates_without([(1, 1), (1, 2)], model.shapes["decoder"], "gguf", CPU)):
        gated = numbers(model.network, "llama", "LlamaForCausalLM", model.tokenizer)["logits"]
    whole = numbers(model.network, "llama", "LlamaForCausalLM", model.tokenizer)["logits"]
    for network in (again.network, load_pruned(pruned.folder)):
        after = numbers(network, "llama", "LlamaForCausalLM", again.tokenizer)["logits"]
        torch.testing.assert_close(after, gated, atol=5e-5, rtol=1e-4)
    assert (gated - whole).abs().max() > 1e-2


def test_half_a_group_of_a_gguf_file_is_refused(gguf_file, tmp_path):
    with pytest.raises(SettingError, match=r"head 1-1 shares weights with 1-2.*Remove all of 1-1, 1-2, or none"):
        prune(str(gguf_file), heads=["1-1"], out=tmp_path / "out", **ON_CPU)
    assert not (tmp_path / "out").exists()
