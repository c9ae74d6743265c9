"""Spans of words as runs of tokens, and what a cut or words without tokens leave out."""

from collections import Counter
from pathlib import Path

import pytest

from headatlas.corpora.coreference.mentions import Mention, MentionDocument
from headatlas.corpora.spans.spans import SpanText, Target
from headatlas.encoding.span_segments import coreference_segments, span_segments
from headatlas.errors import SettingError


def text(words, *spans, name="0.0.0"):
    targets = tuple(Target((span,), ("x",), 1) for span in spans)
    return SpanText(name, Path("a"), tuple(words.split()), {"t": targets})


def slow_tokens(segment, span):
    """Every token whose word lies in the span, looked at one by one."""
    return [place for place, word in enumerate(segment.words.tolist()) if span[0] <= word < span[1]]


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2"])
def test_spans_are_the_tokens_of_their_words(load_tiny, family):
    model = load_tiny(family)
    left_out = Counter()
    given = text("the unbelievable dog ran", (0, 1), (1, 3), (0, 4))
    (segment,) = span_segments([given], model.tokenizer, max_tokens=64, left_out=left_out)
    assert not +left_out
    for target in segment.targets["t"]:
        (span,), (words,) = target.spans, target.words
        assert list(range(*span)) == slow_tokens(segment, words)
        assert len(range(*span)) >= words[1] - words[0]


def test_a_cut_leaves_out_what_it_touches(load_tiny):
    tokenizer = load_tiny("bert").tokenizer
    left_out = Counter()
    given = [
        text("the zzzz dog", (0, 1), (1, 2), (2, 3), name="0.0.0"),
        text("the dog", (0, 1), name="0.0.1"),
        text("zzzzzzzz the", (1, 2), name="0.0.2"),
    ]
    first, second = span_segments(given, tokenizer, max_tokens=6, left_out=left_out)  # [CLS] the z ##z ##z [SEP]
    assert [target.words for target in first.targets["t"]] == [((0, 1),)]
    assert len(first) == 6
    assert second.id == "0.0.1"
    assert +left_out == {"target_beyond_the_cut": 3, "text_cut_to_fit": 2, "text_without_target": 1}


def test_a_cut_between_words_keeps_the_word_before_it(load_tiny):
    tokenizer = load_tiny("bert").tokenizer
    left_out = Counter()
    (segment,) = span_segments([text("the old dog", (1, 2))], tokenizer, max_tokens=4, left_out=left_out)
    assert [target.spans for target in segment.targets["t"]] == [((2, 3),)]


def test_words_without_tokens(load_tiny):
    tokenizer = load_tiny("bert").tokenizer
    left_out = Counter()
    given = [text("the \u200b dog", (1, 2), (0, 2)), text("\u200b", (0, 1), name="0.0.1")]
    (segment,) = span_segments(given, tokenizer, max_tokens=9, left_out=left_out)
    assert [target.spans for target in segment.targets["t"]] == [((1, 2),)]
    assert +left_out == {"target_without_tokens": 1, "text_without_tokens": 1}


def test_no_room(load_tiny):
    with pytest.raises(SettingError, match="leaves no room"):
        span_segments([], load_tiny("bert").tokenizer, max_tokens=2, left_out=Counter())


def test_mentions_within_a_window_are_paired(load_tiny):
    words = ("she", "saw", "a", "dog", "she", "ran") * 2
    places = [(0, "e"), (3, "d"), (4, "e"), (6, "e"), (9, "d"), (10, "e")]
    mentions = tuple(Mention(start, start + 1, start, entity, "pronoun") for start, entity in places)
    document = MentionDocument("0.0", Path("a"), 1, words, ("",) * 12, (0, 6), mentions)
    left_out = Counter()
    found = coreference_segments(
        [document], load_tiny("bert").tokenizer, "coreference", max_tokens=8, seed=0, left_out=left_out
    )
    assert [segment.id for segment in found] == ["0.0.0", "0.0.1"]
    for segment in found:
        pairs = {(target.words, target.labels[0]) for target in segment.targets["coreference"]}
        assert (((4, 5), (0, 1)), "coreferent") in pairs
        assert (((4, 5), (3, 4)), "none") in pairs
        assert len(pairs) == 2
