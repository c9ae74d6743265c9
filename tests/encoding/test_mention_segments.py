"""Documents cut for the model: what lies wholly within a stretch is kept, what a cut touches is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoding.tokenizers_for_tests import bert
from headatlas.corpora.coreference.mentions import Mention, MentionDocument
from headatlas.encoding.mention_segments import mention_segments
from headatlas.encoding.template import SPECIAL
from headatlas.errors import CorpusError, SettingError

WORDS = (
    "the",
    "cat",
    "xyz",
    "dogs",
    ".",
    "\u200b",
)  # one token each, but three for xyz, two for dogs, none for the last
TOKENS = {"the": 1, "cat": 1, "xyz": 3, "dogs": 2, ".": 1, "\u200b": 0}


def document(words, mentions, sentences=(0,), name="0.0"):
    spans = tuple(Mention(start, end, end - 1, "e", "nominal") for start, end in mentions)
    return MentionDocument(name, Path("a.conll"), 1, tuple(words), ("",) * len(words), tuple(sentences), spans)


def test_a_document_is_cut_to_its_beginning():
    words = ["the", "cat", ".", "the", "dogs", ".", "the", "cat"]
    sample = mention_segments([document(words, [(0, 2), (1, 2), (3, 5), (4, 7), (6, 8)])], bert(), max_tokens=2 + 7)
    (segment,) = sample.segments
    assert segment.text == tuple(words[:6])
    assert segment.size == 6
    assert segment.words.tolist() == [SPECIAL, 0, 1, 2, 3, 4, 4, 5, SPECIAL]
    assert [(mention.start, mention.end, mention.head) for mention in segment.mentions] == [
        (0, 2, 1),
        (1, 2, 1),
        (3, 5, 4),
    ]
    assert sample.left_out == {"mention_beyond_the_cut": 1, "mention_touched_by_a_cut": 1}
    assert (sample.documents, sample.words, sample.mentions) == (1, 6, 3)


def test_windows_go_on_after_the_cut_at_the_end_of_a_sentence():
    words = ["the", "cat", ".", "the", "dogs", ".", "the", "cat", "."]
    mentions = [(0, 2), (1, 2), (3, 5), (4, 5), (6, 8), (7, 8)]
    sample = mention_segments([document(words, mentions, (0, 3, 6))], bert(), max_tokens=2 + 5, windows=True)
    assert [segment.text for segment in sample.segments] == [tuple(words[:3]), tuple(words[3:6]), tuple(words[6:])]
    assert [segment.id for segment in sample.segments] == ["0.0.0", "0.0.1", "0.0.2"]
    assert {segment.document for segment in sample.segments} == {"0.0"}
    assert [[(m.start, m.end, m.head) for m in segment.mentions] for segment in sample.segments] == [
        [(0, 2, 1), (1, 2, 1)]
    ] * 3
    assert sample.left_out == {}


def some_spans(size):
    return st.lists(st.integers(0, size - 1).flatmap(lambda i: st.tuples(st.just(i), st.integers(i + 1, size))))


documents = st.lists(st.sampled_from(sorted(TOKENS)), min_size=1, max_size=25).flatmap(
    lambda words: st.tuples(
        st.just(words),
        st.lists(
            st.integers(0, len(words) - 1).flatmap(lambda i: st.tuples(st.just(i), st.integers(i + 1, len(words))))
        ),
        st.sets(st.integers(1, max(1, len(words) - 1))),
    )
)


@given(documents, st.integers(3, 12), st.booleans())
def test_stretches_fit_follow_each_other_and_lose_no_mention_silently(drawn, max_tokens, windows):
    words, spans, starts = drawn
    whole = document(words, spans, (0, *sorted(start for start in starts if start < len(words))))
    anchor = document(["the", "cat"], [(0, 1), (1, 2)], name="0.1")  # so that something is always found
    sample = mention_segments([whole, anchor], bert(), max_tokens=max(max_tokens, 4), windows=windows)
    assert all(len(segment) <= max(max_tokens, 4) for segment in sample.segments)
    assert all(
        sum(TOKENS[word] for word in segment.text) == len(segment) - 2 and segment.words.max() < segment.size
        for segment in sample.segments
    )
    kept = [segment for segment in sample.segments if segment.document == "0.0"]
    assert sum(len(segment.mentions) for segment in kept) + sum(
        count for reason, count in sample.left_out.items() if reason.startswith("mention")
    ) <= len(spans)
    if not windows:
        assert len(kept) <= 1
        assert all(segment.text == tuple(words[: segment.size]) for segment in kept)
    text = "\n".join(words)
    assert all("\n".join(segment.text) in text for segment in kept)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_tokens": 2}, SettingError, "leaves no room for text"),
        ({"max_tokens": 4}, CorpusError, "no part of at most 4 tokens.*Raise --max-tokens"),
    ],
)
def test_what_cannot_work_is_said(options, error, message):
    with pytest.raises(error, match=message):
        mention_segments([document(["the", "cat", "dogs"], [(0, 2), (2, 3)])], bert(), **options)
