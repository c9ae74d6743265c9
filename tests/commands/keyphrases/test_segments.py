"""Documents as model inputs, and windows in which every word counts once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headatlas.commands.keyphrases.reading import KeyphraseDocument
from headatlas.commands.keyphrases.segments import keyphrase_segments, windows_of
from headatlas.encoding.template import SPECIAL
from headatlas.errors import CorpusError, SettingError


def document(text, *phrases, name="0.a"):
    return KeyphraseDocument(name, Path("a.txt"), None, text, phrases)


def test_a_short_document_is_one_segment(tokenizer_of):
    sample = keyphrase_segments(
        [document("the old dogs ran .", "Old dog", "cat")], tokenizer_of("wordpiece"), max_tokens=40
    )
    (segment,) = sample.segments
    assert (segment.text, segment.tags.tolist()) == (("the", "old", "dogs", "ran", "."), [0, 1, 2, 0, 0])
    assert segment.counted.all()
    assert segment.words[0] == segment.words[-1] == SPECIAL
    assert (sample.keyphrases, sample.found, sample.left_out) == (2, 1, {"keyphrase_not_in_text": 1})


@pytest.mark.parametrize("style", ["wordpiece", "gpt2", "t5"])
def test_in_windows_every_word_counts_once_and_the_tags_stay(style, tokenizer_of):
    text = " ".join(["the old man saw a little dog , and the dog ran"] * 6)
    whole = keyphrase_segments([document(text, "little dog")], tokenizer_of(style), max_tokens=500).segments[0]
    sample = keyphrase_segments([document(text, "little dog")], tokenizer_of(style), max_tokens=20)
    assert len(sample.segments) > 3
    assert (sample.in_windows, sample.left_out) == (1, {})
    counted = [segment.first + word for segment in sample.segments for word in np.flatnonzero(segment.counted)]
    assert counted == list(range(whole.size))
    for segment in sample.segments:
        assert len(segment) <= 20
        assert segment.text == whole.text[segment.first : segment.first + segment.size]
        assert segment.tags.tolist() == whole.tags[segment.first : segment.first + segment.size].tolist()
    for one, following in pairwise(sample.segments):
        assert following.first < one.first + one.size


@given(st.lists(st.integers(0, 12), max_size=40), st.integers(1, 10))
def test_windows_fit_and_cover_all_words_that_can_fit(tokens, room):
    spans = windows_of(np.array(tokens, dtype=np.int64), room)
    covered = {word for start, end in spans for word in range(start, end)}
    assert {word for word, size in enumerate(tokens) if 0 < size <= room} <= covered
    assert not {word for word, size in enumerate(tokens) if size > room} & covered
    assert all(sum(tokens[start:end]) <= room and end > start for start, end in spans)
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(spans))


def test_what_cannot_be_read_is_refused(tokenizer_of):
    with pytest.raises(SettingError, match="leaves no room"):
        keyphrase_segments([document("the dog", "dog")], tokenizer_of("wordpiece"), max_tokens=2)
    with pytest.raises(CorpusError, match="no tokens"):
        keyphrase_segments([document("\x7f", "dog")], tokenizer_of("wordpiece"), max_tokens=9)
