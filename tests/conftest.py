"""Offline fixtures that all tests share: four tiny tokenizers and a tiny network of every family.

Nothing here needs the network: networks have random weights, drawn large enough that attention is far from
uniform. Everything costly is made once a session, so tests must not alter what `load_tiny` and `tiny_folder` give;
`copy_of_tiny` gives a folder to damage.
"""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import shutil
import string
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from headatlas.encoding.batches import Batch, make_batch
from headatlas.encoding.kinds import kind_table
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.models.loading import load_model
from headatlas.models.model import Model

pytest_plugins = ["running"]
torch.set_num_threads(1)  # tiny networks: more threads only get in each other's way

WORDS = (
    "the a an of to and in is was for on that with as it at by he she they from be this have not his her their which "
    "were had are but one all who when there been new first look model old cat dog house tree river saw ran sat ate "
    "little big red blue good man woman child water fire day night over under"
)
TEXTS = (
    "the old man saw a little dog, and the dog ran.",
    "she sat by the river.",
    "they have not been there, but the child was in the big red house by the water when it was night.",
)
LONGEST = 64  # positions of the tiny networks


# --- tokenizers -------------------------------------------------------------------------------------------------


def _wordpiece() -> PreTrainedTokenizerFast:
    """BERT's: ``[CLS] A [SEP] B [SEP]`` with token types."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = list(string.ascii_lowercase)
    pieces = [*special, ".", ",", *letters, *(f"##{letter}" for letter in letters)]
    pieces += [word for word in WORDS.split() if word not in pieces]
    backend = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {f"{token[1:-1].lower()}_token": token for token in special}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


def _byte_level(special: Sequence[str], lead: bool) -> Tokenizer:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=lead)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=340, special_tokens=list(special), show_progress=False, initial_alphabet=_byte_alphabet()
    )
    backend.train_from_iterator(TEXTS, trainer)
    return backend


def _byte_alphabet() -> list[str]:
    return sorted(pre_tokenizers.ByteLevel.alphabet())


def _gpt2() -> PreTrainedTokenizerFast:
    """GPT-2's: byte-level, one end-of-text token that is never added, no padding token."""
    end = "<|endoftext|>"
    return PreTrainedTokenizerFast(tokenizer_object=_byte_level([end], lead=False), bos_token=end, eos_token=end)


def _roberta() -> PreTrainedTokenizerFast:
    """RoBERTa's: ``<s> A </s></s> B </s>``, all token types 0."""
    backend = _byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"], lead=False)
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B:0 </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


def _t5() -> PreTrainedTokenizerFast:
    """T5's: ``A </s> B </s>``, no token in front."""
    backend = Tokenizer(models.BPE(unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(
        vocab_size=160,
        special_tokens=["<pad>", "</s>", "<unk>"],
        show_progress=False,
        initial_alphabet=[*string.ascii_letters, ".", ",", "▁"],
    )
    backend.train_from_iterator(TEXTS, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B:0 </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")


_TOKENIZERS = {"wordpiece": _wordpiece, "gpt2": _gpt2, "roberta": _roberta, "t5": _t5}


@pytest.fixture(scope="session")
def tokenizer_of() -> Callable[[str], PreTrainedTokenizerFast]:
    """A tiny tokenizer by style: wordpiece, gpt2, roberta or t5."""
    return _tokenizer


@cache
def _tokenizer(style: str) -> PreTrainedTokenizerFast:
    return _TOKENIZERS[style]()


# --- networks ---------------------------------------------------------------------------------------------------

_USUAL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": LONGEST,
}
_ROBERTA = _USUAL | {
    "max_position_embeddings": LONGEST + 2,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "type_vocab_size": 1,
}
_GROUPED = _USUAL | {
    "num_key_value_heads": 2,
    "head_dim": 8,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": None,
}

# family -> (class with the language model head where there is one, tokenizer style, configuration)
_FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertForMaskedLM", "wordpiece", _USUAL),
    "roberta": ("RobertaForMaskedLM", "roberta", _ROBERTA),
    "distilbert": (
        "DistilBertForMaskedLM",
        "wordpiece",
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": LONGEST},
    ),
    "albert": ("AlbertForMaskedLM", "wordpiece", _USUAL | {"embedding_size": 16}),
    "electra": ("ElectraForMaskedLM", "wordpiece", _USUAL | {"embedding_size": 16}),
    "xlm-roberta": ("XLMRobertaForMaskedLM", "roberta", _ROBERTA),
    "modernbert": (
        "ModernBertForMaskedLM",
        "wordpiece",
        _USUAL
        | {"local_attention": 8, "global_attn_every_n_layers": 2, "pad_token_id": 0}
        | dict.fromkeys(("bos_token_id", "cls_token_id"), 2)
        | dict.fromkeys(("eos_token_id", "sep_token_id"), 3),
    ),
    "mpnet": ("MPNetForMaskedLM", "roberta", {k: v for k, v in _ROBERTA.items() if k != "type_vocab_size"}),
    "deberta-v2": (
        "DebertaV2ForMaskedLM",
        "wordpiece",
        _USUAL | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0},
    ),
    "gpt2": (
        "GPT2LMHeadModel",
        "gpt2",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": LONGEST, "bos_token_id": 0, "eos_token_id": 0},
    ),
    "gpt-neox": ("GPTNeoXForCausalLM", "gpt2", _USUAL | {"bos_token_id": 0, "eos_token_id": 0}),
    "opt": (
        "OPTForCausalLM",
        "roberta",
        {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_dim": 48,
            "word_embed_proj_dim": 32,
            "max_position_embeddings": LONGEST,
            "pad_token_id": 1,
        },
    ),
    "llama": ("LlamaForCausalLM", "gpt2", _GROUPED),
    "mistral": ("MistralForCausalLM", "gpt2", _GROUPED),
    "qwen2": ("Qwen2ForCausalLM", "gpt2", _GROUPED),
    "qwen3": ("Qwen3ForCausalLM", "gpt2", _GROUPED),
    "gemma2": (
        "Gemma2ForCausalLM",
        "gpt2",
        _GROUPED | {"sliding_window": 4, "attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 8},
    ),
    "gpt-oss": (
        "GptOssForCausalLM",
        "gpt2",
        _GROUPED | {"sliding_window": 4, "num_local_experts": 4, "num_experts_per_tok": 2},
    ),
    "xlnet": ("XLNetLMHeadModel", "roberta", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48}),
    "t5": (
        "T5ForConditionalGeneration",
        "t5",
        {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4}
        | {"decoder_start_token_id": 0},
    ),
    "bart": (
        "BartForConditionalGeneration",
        "roberta",
        {"d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "max_position_embeddings": LONGEST}
        | dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4)
        | dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 48),
    ),
}


def make_tiny(family: str, seed: int = 0, head: bool = True, **changes: Any) -> PreTrainedModel:
    """A tiny network with random weights; `head=False` gives the bare network, `changes` go to its configuration."""
    name, style, settings = _FAMILIES[family]
    network_class = getattr(transformers, name)
    config = network_class.config_class(vocab_size=len(_tokenizer(style)), **settings | changes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = network_class(config) if head else network_class(config).base_model
        with torch.no_grad():
            for parameter in network.parameters():
                if parameter.ndim > 1:
                    parameter.normal_(std=0.3)
                else:
                    parameter.add_(0.1 * torch.randn_like(parameter))
    return network.eval()


@pytest.fixture(scope="session")
def tiny_models() -> dict[str, Callable[..., PreTrainedModel]]:
    """Family name -> function that returns a tiny network with random weights (see `make_tiny`)."""

    def maker(family: str) -> Callable[..., PreTrainedModel]:
        return lambda **changes: make_tiny(family, **changes)

    return {family: maker(family) for family in _FAMILIES}


@pytest.fixture(scope="session")
def save_tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make a tiny network (see `make_tiny`) and save it with its tokenizer to a new folder."""

    def save(family: str, **changes: Any) -> Path:
        folder = tmp_path_factory.mktemp(family)
        make_tiny(family, **changes).save_pretrained(folder)
        _tokenizer(_FAMILIES[family][1]).save_pretrained(folder)
        return folder

    return save


@pytest.fixture(scope="session")
def tiny_folder(save_tiny: Callable[..., Path]) -> Callable[[str], Path]:
    """The folder of a family's tiny model with its tokenizer; the same all session, not to be altered."""
    return cache(save_tiny)


@pytest.fixture
def copy_of_tiny(tiny_folder: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a family's folder that a test may damage."""
    return lambda family: Path(shutil.copytree(tiny_folder(family), tmp_path / family))


@pytest.fixture(scope="session")
def load_tiny(tiny_folder: Callable[[str], Path]) -> Callable[[str], Model]:
    """A family's tiny model, loaded by `load_model` on the CPU; the same all session, not to be altered."""
    return cache(lambda family: load_model(str(tiny_folder(family)), device="cpu"))


@pytest.fixture(scope="session")
def load_embedded() -> Callable[[str], Model]:
    """An embedded model with its real weights, loaded on the CPU; the same all session, not to be altered."""
    return cache(lambda name: load_model(name, device="cpu"))


@pytest.fixture(scope="module")
def one_format() -> Iterator[None]:
    """Pictures as SVG alone: that there are other formats is tested with the figures, and drawing them takes long."""
    from headatlas.views.figures.style import save_figure

    with pytest.MonkeyPatch.context() as patch:
        path = "headatlas.views.figures.write.save_figure"
        patch.setattr(path, lambda figure, stem, formats: save_figure(figure, stem, formats[:1]))
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright; tests that use it are skipped where it is not installed."""
    from tests.views.chromium import chromium

    with chromium() as browser:
        yield browser


# --- batches ----------------------------------------------------------------------------------------------------


def make_segments(tokenizer: PreTrainedTokenizerFast, texts: Sequence[str] = TEXTS) -> list[Segment]:
    """Each text as one segment in the tokenizer's own frame; a tab splits a pair A, B."""
    segments = []
    for number, text in enumerate(texts):
        encoded = tokenizer(*text.split("\t"), return_token_type_ids=True)
        words = [SPECIAL if word is None else word for word in encoded.word_ids()]
        arrays = (np.asarray(values, np.int32) for values in (encoded["input_ids"], encoded["token_type_ids"], words))
        segments.append(Segment(f"0.{number}.0", *arrays))
    return segments


@pytest.fixture(scope="session")
def segments_for() -> Callable[..., list[Segment]]:
    """Segments of given texts (three of different length unless told) for a tokenizer (see `make_segments`)."""
    return make_segments


@pytest.fixture(scope="session")
def batch_for() -> Callable[..., Batch]:
    """One padded batch of given texts (or of given segments) for a model."""

    def batch(model: Model, texts: Sequence[str] = TEXTS, segments: Sequence[Segment] | None = None) -> Batch:
        chosen = make_segments(model.tokenizer, texts) if segments is None else segments
        return make_batch(chosen, kind_table(model.tokenizer), model.pad_id)

    return batch


@pytest.fixture(scope="session")
def spacy_pipeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a spaCy parser that has learned three sentences by heart."""
    import spacy
    from spacy.training import Example

    one = ["nsubj", "ROOT", "punct"]
    trees = [("Dogs bark .", [1, 1, 1], one), ("Cats sleep .", [1, 1, 1], one)]
    trees.append(("Dogs bark . Cats sleep .", [1, 1, 1, 4, 4, 4], one * 2))
    spacy.util.fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    examples = [Example.from_dict(nlp.make_doc(text), {"heads": heads, "deps": deps}) for text, heads, deps in trees]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(30):
        nlp.update(examples, sgd=optimizer)
    folder = tmp_path_factory.mktemp("pipeline")
    nlp.to_disk(folder)
    return str(folder)
