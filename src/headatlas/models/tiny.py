"""Tiny networks with random weights, made in code: to test with where no model can be downloaded."""

from __future__ import annotations

import string
from functools import cache

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from headatlas.models.model import Model
from headatlas.models.observing import observe_network

LONGEST = 64  # positions
LAYERS, HEADS = 2, 3
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_WORDS = "the a of to and in is was for on that with as it at by he she they from his her had not but house water old"


@cache
def tiny_model(causal: bool = False, seed: int = 0) -> Model:
    """Make a network of 2 layers with 3 heads each. Its weights are large, so that attention is far from uniform.

    Args:
        causal: Make a decoder with a language model head; otherwise an encoder with a masked language model head.
        seed: Seed of the weights.

    Returns:
        The model, ready to be observed. It is made once per process, so it must not be changed.
    """
    tokenizer = _tokenizer()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _decoder(len(tokenizer)) if causal else _encoder(len(tokenizer))
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.normal_(std=0.3) if parameter.ndim > 1 else parameter.add_(0.1 * torch.randn_like(parameter))
    name = "tiny-decoder" if causal else "tiny-encoder"
    return observe_network(network.eval(), tokenizer, name=name, language_model="causal" if causal else "masked")


def _encoder(vocabulary: int) -> BertForMaskedLM:
    size = {"hidden_size": 24, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": 32}
    return BertForMaskedLM(BertConfig(vocab_size=vocabulary, max_position_embeddings=LONGEST, **size))


def _decoder(vocabulary: int) -> GPT2LMHeadModel:
    size = {"n_embd": 24, "n_layer": LAYERS, "n_head": HEADS, "n_positions": LONGEST}
    return GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, bos_token_id=2, eos_token_id=3, **size))


def _tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer in the manner of BERT's: a few words, and letters for all others."""
    letters = string.ascii_lowercase + string.digits
    pieces = dict.fromkeys([*_SPECIAL, *string.punctuation, *letters, *(f"##{letter}" for letter in letters)])
    pieces |= dict.fromkeys(_WORDS.split())
    backend = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", _SPECIAL.index("[CLS]")), ("[SEP]", _SPECIAL.index("[SEP]"))],
    )
    names = {f"{token[1:-1].lower()}_token": token for token in _SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)
