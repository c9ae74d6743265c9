"""Tiny fast tokenizers, one for each way of framing text that models use, and helpers to make lines for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from headatlas.corpora.text import TextLine

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MARKS = ".,!?[]<>/-'3589"
WORDS = ["the", "cat", "sat", "on", "mat", "dog", "##s", "##ing", "##.", "##,", "...", "3.5", "sep", "cls"]
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())


def lines(documents: Sequence[Sequence[str]], path: str = "corpus.txt") -> list[TextLine]:
    """The lines of documents as the reader of plain text would give them."""
    out = []
    number = 0
    for document, texts in enumerate(documents):
        for text in texts:
            number += 1
            out.append(TextLine(Path(path), number, document, text))
        number += 1
    return out


@cache
def bert() -> PreTrainedTokenizerFast:
    """``[CLS] A [SEP] B [SEP]``, token types 0 and 1."""
    return _wordpiece("[CLS]", "[SEP]")


@cache
def strange_bert() -> PreTrainedTokenizerFast:
    """The same with special tokens nobody would recognise by their spelling; ``[SEP]`` is an ordinary word here."""
    return _wordpiece("cat", ".", extra=["[SEP]", "[CLS]"])


@cache
def roberta() -> PreTrainedTokenizerFast:
    """``<s> A </s></s> B </s>``, token types all 0, byte-level."""
    tokenizer = _byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


@cache
def gpt() -> PreTrainedTokenizerFast:
    """No special tokens around the text, byte-level."""
    tokenizer = _byte_level(["<|endoftext|>"])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>", pad_token="<|endoftext|>"
    )


@cache
def llama() -> PreTrainedTokenizerFast:
    """``<s> A <s> B``: a start token before each span and nothing that separates them."""
    tokenizer = _byte_level(["<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s>:0 $A:0 <s>:1 $B:1", special_tokens=[("<s>", 0)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")


@cache
def t5() -> PreTrainedTokenizerFast:
    """``A </s> B </s>``, sentencepiece-like."""
    tokenizer = _unigram(["<pad>", "</s>", "<unk>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")


@cache
def xlnet() -> PreTrainedTokenizerFast:
    """``A <sep> B <sep> <cls>`` with token types 0, 1 and 2, the last two within one part of the frame."""
    tokenizer = _unigram(["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A:0 <sep>:0 <cls>:2",
        pair="$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2",
        special_tokens=[("<sep>", 4), ("<cls>", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<cls>",
        sep_token="<sep>",
        pad_token="<pad>",
        unk_token="<unk>",
    )


PAIRED = [bert, strange_bert, roberta, t5, xlnet]
UNPAIRED = [gpt, llama]


def _wordpiece(cls: str, sep: str, extra: Sequence[str] = ()) -> PreTrainedTokenizerFast:
    pieces = [*LETTERS, *(f"##{letter}" for letter in LETTERS), *MARKS, "。", "，", *WORDS, *extra]  # noqa: RUF001
    special = ["[PAD]", "[UNK]", cls, sep, "[MASK]"]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys([*special, *pieces]))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$cls $A $sep".replace("$cls", cls).replace("$sep", sep),
        pair="$cls:0 $A:0 $sep:0 $B:1 $sep:1".replace("$cls", cls).replace("$sep", sep),
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        cls_token=cls,
        sep_token=sep,
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
    )


def _byte_level(special: Sequence[str]) -> Tokenizer:
    merges = [("Ġ", "a"), ("Ġ", "."), ("Ġ", ","), (".", "."), ("t", "h"), ("th", "e"), ("Ġ", "the"), ("ã", "Ģ")]
    merges += [("ãĢ", "Ĥ"), ("3", "."), ("3.", "5"), ("#", "#"), ("##", ".")]
    pieces = [*special, *BYTES, *("".join(pair) for pair in merges)]
    tokenizer = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _unigram(special: Sequence[str]) -> Tokenizer:
    pieces = ["▁", *LETTERS, *LETTERS.upper(), *MARKS, "▁the", "▁cat", "▁.", "▁,", "...", "3.5", "▁a", "。"]
    scores = [(piece, 0.0) for piece in special] + [(piece, -float(10 - len(piece))) for piece in pieces]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=list(special).index("<unk>")))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer
