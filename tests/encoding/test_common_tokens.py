"""The commonest tokens against a count in a loop."""

from __future__ import annotations

from collections import Counter

import pytest

from headatlas.encoding.token_texts import MOST_LISTED, common_tokens
from headatlas.views.words.about import common_tokens as said


@pytest.mark.parametrize("style", ["wordpiece", "gpt2"])
def test_counts_without_special_tokens_the_commonest_first(style, tokenizer_of, segments_for):
    tokenizer = tokenizer_of(style)
    segments = segments_for(tokenizer)
    counts = Counter()
    for segment in segments:
        for number, word in zip(segment.ids, segment.words, strict=True):
            if word >= 0:
                counts[tokenizer.convert_ids_to_tokens(int(number)).replace("\u0120", " ")] += 1
    listed = common_tokens(segments, tokenizer)
    assert len(listed) == min(MOST_LISTED, len(counts))
    assert [token["count"] for token in listed] == sorted(counts.values(), reverse=True)[:MOST_LISTED]
    for token in listed:
        assert token["count"] == counts[token["token"]]
        assert token["share"] == pytest.approx(token["count"] / counts.total())
        assert token["period_comma"] == (token["token"].strip() in (".", ","))


def test_said_in_a_sentence():
    tokens = [("the", 0.06, False), (",", 0.05, True), (".", 0.04, True), ("of", 0.03, False)]
    listed = [{"token": name, "count": 1, "share": share, "period_comma": mark} for name, share, mark in tokens]
    assert said({"corpora": {"text": {"common_tokens": listed}}}) == [
        'Commonest tokens of the text: "the" (6.0 %), "," (5.0 %), "." (4.0 %), "of" (3.0 %); periods and commas rank '
        "2nd and 3rd."
    ]
    assert said({"corpora": {"text": {}}}) == []
