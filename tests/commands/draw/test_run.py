"""A head on a sentence: which words are drawn, hidden and marked."""

from __future__ import annotations

import pytest

from headatlas.commands.draw.options import draw
from headatlas.errors import SettingError
from headatlas.views.figures.style import RED

TEXT = "The oldest dog saw a dog."


@pytest.fixture(scope="module")
def bert(load_tiny):
    return load_tiny("bert")


def left(axes):
    return [text.get_text() for text in axes.texts if text.get_ha() == "right"]


def red(axes):
    return [text.get_text() for text in axes.texts if text.get_ha() == "right" and text.get_color() == RED]


def test_words_by_default(bert):
    (axes,) = draw(bert, TEXT, head="2-3").axes
    assert left(axes) == ["[CLS]", "The", "oldest", "dog", "saw", "a", "dog", ".", "[SEP]"]
    assert axes.get_title() == "Head 2-3"


def test_tokens_on_request_and_several_heads(bert):
    figure = draw(bert, TEXT, head=["1-1", "2-4"], words=False)
    assert [axes.get_title() for axes in figure.axes] == ["Head 1-1", "Head 2-4"]
    assert left(figure.axes[1])[1:6] == ["the", "old", "##e", "##s", "##t"]


@pytest.mark.parametrize("words", [True, False])
def test_special_tokens_can_be_hidden(bert, words):
    (axes,) = draw(bert, TEXT, "She ran.", head="1-1", hide_special=True, words=words).axes
    assert not {"[CLS]", "[SEP]"} & set(left(axes))
    assert left(axes)[-2:] == ["ran", "."]


def test_marked_words_are_red_wherever_they_stand(bert):
    assert red(draw(bert, TEXT, head="1-1", red="DOG").axes[0]) == ["dog", "dog"]
    assert red(draw(bert, TEXT, head="1-1", red=["oldest", "[SEP]"]).axes[0]) == ["oldest", "[SEP]"]


def test_a_marked_word_has_all_its_tokens_red(bert):
    assert red(draw(bert, TEXT, head="1-1", red="oldest", words=False).axes[0]) == ["old", "##e", "##s", "##t"]
    assert red(draw(bert, TEXT, head="1-1", red="##e", words=False).axes[0]) == ["##e"]


def test_a_word_that_the_model_saw_as_unknown_is_marked(bert):
    axes = draw(bert, "the \u2603 ran", head="1-1", red="\u2603").axes[0]
    assert left(axes) == ["[CLS]", "the", "[UNK] \u2603", "ran", "[SEP]"]
    assert red(axes) == ["[UNK] \u2603"]
    assert left(draw(bert, "the \u2603 ran", head="1-1", words=False).axes[0])[2] == "[UNK]"


def test_a_word_that_is_not_there_cannot_be_marked(bert):
    with pytest.raises(SettingError, match=r"'cat' is not a word of the text. Its words: \[CLS\], The, oldest, dog"):
        draw(bert, TEXT, head="1-1", red="cat")


def test_a_decoder_needs_no_special_tokens(load_tiny):
    (axes,) = draw(load_tiny("gpt2"), "the old dog ran", head="2-4", hide_special=True).axes
    assert left(axes) == ["the", "old", "dog", "ran"]


def test_both_sides_of_an_encoder_decoder(load_tiny):
    model = load_tiny("bart")
    with pytest.raises(SettingError, match="2 layers x 4 heads: 1-1 to 2-4"):
        draw(model, TEXT, head="3-1")
    assert draw(model, TEXT, head="3-1", attention="decoder").axes


def test_what_cannot_be_drawn_is_refused_before_a_model_is_loaded():
    with pytest.raises(SettingError, match="not a valid head"):
        draw("./nowhere", TEXT, head="one")
    with pytest.raises(SettingError, match="empty"):
        draw("./nowhere", " ", head="1-1")
