"""Segments cut to the length of a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL
from headatlas.encoding.word_segments import WordSegment

FITTING_TOKENS = 28  # as many as a picture shows well
SENTENCE_ENDS = frozenset(".?!")


def shorten(segment: Segment, most_tokens: int = FITTING_TOKENS) -> Segment:
    """Keep the special tokens and the beginning of each span between them. The result has no tree or mentions."""
    if len(segment) <= most_tokens:
        return segment
    special = segment.words == SPECIAL
    spans = np.cumsum(special) * ~special  # the span a text token belongs to, by the specials before it
    names = sorted(set(spans[~special].tolist()))
    room = (most_tokens - int(special.sum())) // max(1, len(names))
    keep = special.copy()
    for span in names:
        keep[np.flatnonzero((spans == span) & ~special)[:room]] = True
    return Segment(segment.id, segment.ids[keep], segment.type_ids[keep], segment.words[keep])


def whole_sentences(segment: WordSegment, most_tokens: int) -> int:
    """Count the first words that fit into `most_tokens`, up to the end of a sentence if one ends among them."""
    special = segment.words == SPECIAL
    tokens = np.bincount(segment.words[~special], minlength=segment.size)
    size = int(np.searchsorted(np.cumsum(tokens), most_tokens - int(special.sum()), side="right"))
    if size == segment.size:
        return size
    ends = [word + 1 for word in range(size) if segment.text[word] in SENTENCE_ENDS]
    return ends[-1] if ends else size


def first_words(segment: WordSegment, size: int) -> dict[str, Any]:
    """Return the fields of a segment of words, restricted to its special tokens and first words."""
    keep = segment.words < size  # special tokens have lower numbers
    tokens = {name: getattr(segment, name)[keep] for name in ("ids", "type_ids", "words")}
    return tokens | {"text": segment.text[:size]}
