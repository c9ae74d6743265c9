from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from encoding.tokenizers_for_tests import PAIRED, UNPAIRED, bert, gpt, llama, roberta, t5, xlnet
from headatlas.encoding.template import SPECIAL, leading_space, pair_frame, require_fast, single_frame
from headatlas.errors import ModelError

Make = Callable[[], PreTrainedTokenizerFast]
texts = st.text("abct .,3!é\u4e16'", max_size=30)


def token_ids(tokenizer: PreTrainedTokenizerFast, text: str) -> np.ndarray:
    return np.asarray(tokenizer(text, add_special_tokens=False)["input_ids"], dtype=np.int32)


@pytest.mark.parametrize("make", PAIRED)
@given(first=texts, second=texts.filter(bool))  # transformers takes an empty second text for none
@settings(max_examples=60)
def test_pair_frame_is_the_tokenizers_own(make: Make, first: str, second: str) -> None:
    tokenizer = make()
    frame = pair_frame(tokenizer)
    assert frame is not None
    spans = token_ids(tokenizer, first), token_ids(tokenizer, second)
    own = tokenizer(first, second, return_token_type_ids=True)
    assert frame.ids(*spans).tolist() == own["input_ids"]
    assert frame.type_ids(*spans).tolist() == own["token_type_ids"]
    assert frame.size == len(own["input_ids"]) - sum(map(len, spans))


@pytest.mark.parametrize("make", PAIRED + UNPAIRED)
@given(text=texts)
@settings(max_examples=60)
def test_single_frame_is_the_tokenizers_own(make: Make, text: str) -> None:
    tokenizer = make()
    frame = single_frame(tokenizer)
    span = token_ids(tokenizer, text)
    own = tokenizer(text, return_token_type_ids=True)
    assert frame.ids(span).tolist() == own["input_ids"]
    assert frame.type_ids(span).tolist() == own["token_type_ids"]
    assert frame.size == len(own["input_ids"]) - len(span)


def test_frames_written_out() -> None:
    frame = pair_frame(bert())
    assert frame is not None
    cls, sep = bert().cls_token_id, bert().sep_token_id
    assert (frame.before, frame.between, frame.after) == ((cls,), (sep,), (sep,))
    assert frame.types == (0, 0, 0, 1, 1)
    frame = pair_frame(roberta())
    assert frame is not None
    assert (frame.before, frame.between, frame.after) == ((0,), (2, 2), (2,))
    frame = pair_frame(t5())
    assert frame is not None
    assert (frame.before, frame.between, frame.after) == ((), (1,), (1,))
    frame = pair_frame(xlnet())
    assert frame is not None
    assert frame.types == (0, 0, 1, 1, 2)


@pytest.mark.parametrize("make", UNPAIRED)
def test_no_pair_without_a_separator(make: Make) -> None:
    assert pair_frame(make()) is None


def test_words_are_special_on_the_frame_only() -> None:
    frame = pair_frame(roberta())
    assert frame is not None
    words = frame.words(np.array([0, 0, 1], dtype=np.int32), np.array([2], dtype=np.int32))
    assert words.tolist() == [SPECIAL, 0, 0, 1, SPECIAL, SPECIAL, 2, SPECIAL]
    assert words.dtype == np.int32


def test_frame_is_learned_under_padding_and_truncation_left_on() -> None:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(bert().backend_tokenizer.to_str()), cls_token="[CLS]", sep_token="[SEP]"
    )
    tokenizer.backend_tokenizer.enable_padding(length=32)
    tokenizer.backend_tokenizer.enable_truncation(3)
    assert pair_frame(tokenizer) == pair_frame(bert())


@pytest.mark.parametrize(
    ("make", "expected"), [(bert, False), (roberta, True), (gpt, True), (llama, True), (t5, False), (xlnet, False)]
)
def test_leading_space(make: Make, expected: bool) -> None:
    assert leading_space(make().backend_tokenizer) == " " * expected


def test_a_prefix_space_of_the_tokenizers_own_needs_no_second_one() -> None:
    backend = Tokenizer.from_str(gpt().backend_tokenizer.to_str())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    assert leading_space(backend) == ""


def test_slow_tokenizer_is_refused_with_a_remedy() -> None:
    class Slow:
        is_fast = False

    with pytest.raises(ModelError, match=r"Slow is a slow tokenizer.*tokenizer\.json"):
        require_fast(Slow())  # type: ignore[arg-type]
    require_fast(bert())


@pytest.mark.parametrize("frame", [single_frame, pair_frame])
def test_a_vocabulary_without_letters_is_refused(frame: Callable[[PreTrainedTokenizerFast], object]) -> None:
    nothing = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"x": 0}, [])))
    with pytest.raises(ModelError, match="vocabulary does not fit"):
        frame(nothing)
