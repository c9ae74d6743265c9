"""A text as tokens and words: names, numbers, maps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from headatlas.errors import SettingError
from headatlas.models.model import Model
from headatlas.views.figures.sentence import head_maps, read_sentence


@pytest.fixture(scope="module")
def bert(load_tiny) -> Model:
    return load_tiny("bert")


def test_words_are_those_of_the_text_and_special_tokens_stand_alone(bert):
    sentence = read_sentence(bert, "The oldest Dog ran.", "She sat.")
    assert sentence.words == ("[CLS]", "The", "oldest", "Dog", "ran", ".", "[SEP]", "She", "sat", ".", "[SEP]")
    assert [sentence.words[unit] for unit in sentence.unit][:7] == ["[CLS]", "The", *["oldest"] * 4, "Dog"]
    assert sentence.tokens[2:6] == ("old", "##e", "##s", "##t")
    assert {sentence.tokens[place] for place in sentence.special} == {"[CLS]", "[SEP]"}
    assert sentence.segment.type_ids[-3:].tolist() == [1, 1, 1]


@pytest.mark.parametrize("family", ["bert", "gpt2", "roberta", "t5"])
@pytest.mark.parametrize("text", ["the old man  saw it", " the dog", "Zoë's naïve, 中文 text\twith\nall"])
def test_words_cover_the_text_in_order_and_hold_no_space(load_tiny, family, text):
    model = load_tiny(family)
    sentence = read_sentence(model, text)
    special = {int(sentence.unit[place]) for place in sentence.special}
    words = [word for number, word in enumerate(sentence.words) if number not in special]
    assert "".join(words) == "".join(text.split())
    assert not any(character.isspace() for word in words for character in word)
    assert (np.diff(sentence.unit) >= 0).all()
    assert len(sentence.words) == sentence.unit[-1] + 1


def test_a_space_ends_a_word_even_where_the_tokenizer_knows_none(load_tiny):
    letters = {letter: number for number, letter in enumerate("theoldg ")}
    without_words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE(letters, [])))
    assert set(without_words("the old dog").word_ids()) == {0}
    model = replace(load_tiny("gpt2"), tokenizer=without_words)
    assert read_sentence(model, "the old dog").words == ("the", "old", "dog")


def test_maps_between_words_are_sums_to_and_means_from(bert):
    sentence = read_sentence(bert, "the oldest dog ran.")
    heads = [(2, 3), (1, 1), (2, 3)]
    tokens = head_maps(bert, sentence, heads, "encoder", by_word=False)
    words = head_maps(bert, sentence, heads, "encoder", by_word=True)
    for of_tokens, of_words in zip(tokens, words, strict=True):
        assert of_tokens.shape == (len(sentence.tokens),) * 2
        expected = np.zeros((len(sentence.words),) * 2)
        for start in range(len(sentence.words)):
            for end in range(len(sentence.words)):
                rows, columns = np.flatnonzero(sentence.unit == start), np.flatnonzero(sentence.unit == end)
                expected[start, end] = np.mean([sum(of_tokens[row, column] for column in columns) for row in rows])
        np.testing.assert_allclose(of_words, expected, atol=1e-6)
        np.testing.assert_allclose(of_words.sum(1), 1, atol=1e-5)
    np.testing.assert_array_equal(tokens[0], tokens[2])
    assert not np.allclose(tokens[0], tokens[1])


@pytest.mark.parametrize("texts", [("",), ("  \n",), ("a dog", " ")])
def test_an_empty_text_is_refused(bert, texts):
    with pytest.raises(SettingError, match="empty"):
        read_sentence(bert, *texts)


def test_a_text_too_long_for_the_model_is_refused(bert):
    with pytest.raises(SettingError, match=r"102 tokens.*at most 64\. Shorten it"):
        read_sentence(bert, "dog " * 100)


def test_two_texts_need_a_separator(load_tiny):
    with pytest.raises(SettingError, match="no separator"):
        read_sentence(load_tiny("gpt2"), "a dog", "a cat")
