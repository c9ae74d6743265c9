"""Given words keep their tokens apart, and stand as they would in running text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoding import tokenizers_for_tests as made
from headatlas.corpora.treebanks.sentence import ROOT, Sentence
from headatlas.encoding.template import SPECIAL, leading_space
from headatlas.encoding.word_segments import encode_words, parsed_segments
from headatlas.errors import CorpusError, ModelError, SettingError

FAMILIES = [made.bert, made.strange_bert, made.roberta, made.gpt, made.llama, made.t5, made.xlnet]
EMPTY = "\u200b\u0000"  # a zero-width space and a control character: BERT's tokenizer drops both

words_of_sentences = st.lists(st.text("abcthe.,'<>/[]35", min_size=1, max_size=6), min_size=1, max_size=8)


def sentence(words, heads=None, relations=None, name="0.0.0"):
    heads = heads or [ROOT, *[0] * (len(words) - 1)]
    relations = relations or ["root", *["dep"] * (len(words) - 1)]
    return Sentence(name, Path("t.conllu"), 1, tuple(words), tuple(heads), tuple(relations), ("",) * len(words))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@given(words=words_of_sentences)
@settings(max_examples=40)
def test_tokens_are_those_of_the_text_joined_by_spaces(family, words):
    tokenizer = family()
    [encoded] = encode_words([words], tokenizer)
    plain = tokenizer.backend_tokenizer.encode(" ".join(words), add_special_tokens=False)
    assert encoded.ids == plain.ids
    assert sorted(set(encoded.word_ids)) == list(range(len(words)))
    assert encoded.word_ids == sorted(encoded.word_ids)


@pytest.mark.parametrize("style", ["wordpiece", "gpt2", "roberta", "t5"])
def test_tokens_of_trained_vocabularies_too(tokenizer_of, style):
    tokenizer = tokenizer_of(style)
    words = ["The", "dog", "'s", "bone", ",", "it", "seems", ",", "has", "gone", "."]
    [encoded] = encode_words([words], tokenizer)
    assert encoded.ids == tokenizer.backend_tokenizer.encode(" ".join(words), add_special_tokens=False).ids
    assert sorted(set(encoded.word_ids)) == list(range(len(words)))


def test_only_byte_level_tokenizers_need_a_space_in_front():
    assert [leading_space(family().backend_tokenizer) for family in FAMILIES] == ["", "", " ", " ", " ", "", ""]


def test_names_of_special_tokens_are_text():
    tokenizer = made.roberta()
    [encoded] = encode_words([["<s>", "</s>"]], tokenizer)
    assert not set(encoded.ids) & set(tokenizer.all_special_ids)


def test_many_sentences_keep_their_order(monkeypatch):
    monkeypatch.setattr("headatlas.encoding.word_segments.SENTENCES_AT_ONCE", 2)
    found = [len(encoded) for encoded in encode_words([["a"] * size for size in (3, 1, 4, 1, 5)], made.bert())]
    assert found == [3, 1, 4, 1, 5]


def test_a_sentence_becomes_a_segment_with_its_tree():
    tokenizer = made.bert()
    tree = sentence(["the", "cats", "sat"], [1, 2, ROOT], ["det", "nsubj", "root"], "3.7.2")
    sample = parsed_segments([tree], tokenizer, max_tokens=10, counts_as=lambda _: (0, 2, 2))
    [segment] = sample.segments
    assert (segment.id, segment.document, segment.size) == ("3.7.2", "3.7", 3)
    assert tokenizer.convert_ids_to_tokens(segment.ids.tolist()) == ["[CLS]", "the", "cat", "##s", "sat", "[SEP]"]
    assert segment.words.tolist() == [SPECIAL, 0, 1, 1, 2, SPECIAL]
    assert segment.heads.tolist() == [1, 2, ROOT]
    assert [sample.relations[number] for number in segment.relations] == ["det", "nsubj", "root"]
    assert segment.counts_as.tolist() == [0, 2, 2]
    assert (sample.relations, sample.documents, sample.words, sample.left_out) == (("det", "nsubj", "root"), 1, 3, {})


def test_each_word_counts_for_itself_unless_told():
    [segment] = parsed_segments([sentence(["a", "b"])], made.bert(), max_tokens=9).segments
    assert segment.counts_as.tolist() == [0, 1]


def test_a_long_sentence_is_left_out_whole_and_counted():
    trees = [sentence(["a"] * size, name=f"0.{size}.0") for size in (8, 9, 2)]
    sample = parsed_segments(trees, made.bert(), max_tokens=10)
    assert [segment.size for segment in sample.segments] == [8, 2]
    assert sample.left_out == {"sentence_too_long": 1}
    assert sample.documents == 2


def test_a_word_without_tokens_stays_a_word():
    sample = parsed_segments([sentence(["a", EMPTY, "b"])], made.bert(), max_tokens=10)
    [segment] = sample.segments
    assert segment.size == 3
    assert segment.words.tolist() == [SPECIAL, 0, 2, SPECIAL]
    assert sample.left_out == {"word_without_tokens": 1}


def test_a_sentence_without_tokens_is_left_out():
    sample = parsed_segments([sentence([EMPTY]), sentence(["a"])], made.bert(), max_tokens=10)
    assert len(sample.segments) == 1
    assert sample.left_out == {"sentence_without_tokens": 1}


@pytest.mark.parametrize(
    ("words", "message"), [(["a"] * 9, "Raise --max-tokens"), ([EMPTY], "script"), (None, "it is empty")]
)
def test_a_treebank_that_gives_nothing_is_an_error(words, message):
    with pytest.raises(CorpusError, match=message):
        parsed_segments([] if words is None else [sentence(words)], made.bert(), max_tokens=5)


def test_no_room_for_text():
    with pytest.raises(SettingError, match="leaves no room for text: special tokens take 2"):
        parsed_segments([sentence(["a"])], made.bert(), max_tokens=2)


def test_a_slow_tokenizer_is_refused():
    with pytest.raises(ModelError, match="slow tokenizer"):
        parsed_segments([sentence(["a"])], type("Slow", (), {"is_fast": False})(), max_tokens=9)
