from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from encoding.tokenizers_for_tests import PAIRED, UNPAIRED, bert, gpt, llama, roberta, strange_bert, t5, xlnet
from headatlas.encoding.kinds import TokenKind, kind_table

Make = Callable[[], PreTrainedTokenizerFast]


def kind(tokenizer: PreTrainedTokenizerFast, token: str) -> TokenKind:
    vocabulary = tokenizer.get_vocab()
    assert token in vocabulary
    return TokenKind(kind_table(tokenizer)(np.array([vocabulary[token]]))[0])


@pytest.mark.parametrize(
    ("make", "cls", "sep"),
    [
        (bert, "[CLS]", "[SEP]"),
        (strange_bert, "cat", "."),
        (roberta, "<s>", "</s>"),
        (xlnet, "<cls>", "<sep>"),
        (llama, "<s>", "</s>"),
    ],
)
def test_roles_are_the_tokenizers_own(make: Make, cls: str, sep: str) -> None:
    table = kind_table(make())
    vocabulary = make().get_vocab()
    assert np.flatnonzero(table.of_id == TokenKind.CLS).tolist() == [vocabulary[cls]]
    assert np.flatnonzero(table.of_id == TokenKind.SEP).tolist() == [vocabulary[sep]]


def test_a_tokenizer_without_a_first_token_has_no_cls() -> None:
    table = kind_table(t5())
    assert not (table.of_id == TokenKind.CLS).any()
    assert np.flatnonzero(table.of_id == TokenKind.SEP).tolist() == [t5().eos_token_id]


def test_one_token_for_start_and_end_counts_as_start() -> None:
    assert kind(gpt(), "<|endoftext|>") is TokenKind.CLS


@pytest.mark.parametrize("token", ["[SEP]", "[CLS]", "[MASK]", "[PAD]", "[UNK]"])
def test_spelling_means_nothing(token: str) -> None:
    assert kind(strange_bert(), token) is TokenKind.OTHER


@pytest.mark.parametrize("make", [bert, roberta, gpt, llama, t5, xlnet])
@pytest.mark.parametrize("token", [".", ","])
def test_period_and_comma(make: Make, token: str) -> None:
    assert kind(make(), token) is TokenKind.PERIOD_COMMA


@pytest.mark.parametrize(
    ("make", "token"),
    [
        (bert, "##."),
        (bert, "##,"),
        (bert, "。"),
        (bert, "，"),  # noqa: RUF001
        (gpt, "Ġ."),
        (gpt, "Ġ,"),
        (roberta, "Ġ."),
        (roberta, "ãĢĤ"),  # the bytes of the ideographic full stop
        (t5, "▁."),
        (t5, "▁,"),
        (t5, "。"),
    ],
)
def test_period_and_comma_in_a_tokenizers_own_dress(make: Make, token: str) -> None:
    assert kind(make(), token) is TokenKind.PERIOD_COMMA


@pytest.mark.parametrize(
    ("make", "token"),
    [
        *((bert, token) for token in ("...", "3.5", "!", "a", "##s")),
        *((t5, token) for token in ("...", "3.5", "▁")),
        *((gpt, token) for token in ("..", "3.", "3.5", "##.", "Ġ", "ãĢ", "Ċ")),
    ],
)
def test_what_only_looks_like_a_period_or_comma(make: Make, token: str) -> None:
    assert kind(make(), token) is TokenKind.OTHER


def test_byte_fallback_and_word_endings() -> None:
    backend = Tokenizer(models.BPE({"<0x2E>": 0, "<0x2F>": 1, ".</w>": 2, "..</w>": 3}, []))
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.BPEDecoder()])
    table = kind_table(PreTrainedTokenizerFast(tokenizer_object=backend))
    assert table.of_id.tolist() == [TokenKind.PERIOD_COMMA, TokenKind.OTHER, TokenKind.PERIOD_COMMA, TokenKind.OTHER]


@pytest.mark.parametrize("make", PAIRED + UNPAIRED)
def test_every_id_has_a_kind(make: Make) -> None:
    table = kind_table(make())
    ids = np.array([sorted(make().get_vocab().values())], dtype=np.int32)
    assert table(ids).shape == ids.shape
    assert table(ids).dtype == np.uint8
