"""Documents with mentions as model inputs: cut to what the model sees at once (paper, section 4.3).

The paper truncates documents to 128 tokens. `windows` continues after the cut instead: a window takes whole sentences
while they fit, and cuts only a sentence that does not fit alone. A mention that a cut touches is left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headatlas.corpora.coreference.mentions import Mention, MentionDocument
from headatlas.encoding.template import Frame, single_frame
from headatlas.encoding.word_segments import WordSegment, encode_words, framed_words, sorted_counts, tokens_per_word
from headatlas.errors import CorpusError
from headatlas.wording import counted

if TYPE_CHECKING:
    from tokenizers import Encoding
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class MentionSegment(WordSegment):
    """A part of a document with the mentions that lie completely within it."""

    tags: tuple[str, ...]  # [size]
    mentions: tuple[Mention, ...]  # counted from the segment's first word


@dataclass
class MentionSample:
    """The parts of documents as model inputs, and counts of what was read and left out."""

    segments: list[MentionSegment]
    documents: int
    words: int
    mentions: int  # within the segments
    left_out: dict[str, int] = field(default_factory=dict)  # reason -> how many


def mention_segments(
    documents: Iterable[MentionDocument], tokenizer: PreTrainedTokenizerBase, *, max_tokens: int, windows: bool = False
) -> MentionSample:
    """Encode the beginning of every document, or all of it in windows.

    A part with fewer than two mentions has no antecedent to find and is left out.
    """
    frame = single_frame(tokenizer)
    room = frame.room(max_tokens)
    left_out: Counter[str] = Counter()
    segments: list[MentionSegment] = []
    documents = list(documents)
    encodings = encode_words((document.words for document in documents), tokenizer)
    for document, encoded in zip(documents, encodings, strict=True):
        tokens = tokens_per_word(encoded, len(document.words))
        left_out["word_without_tokens"] += int((tokens == 0).sum())
        whole_mentions = end = 0
        for number, (start, end) in enumerate(_stretches(document, tokens, room, windows)):
            segment = _segment(document, encoded, frame, start, end, number)
            whole_mentions += len(segment.mentions)
            if len(segment.mentions) < 2:
                left_out["passage_without_two_mentions"] += 1
            else:
                segments.append(segment)
        beyond = sum(mention.start >= end for mention in document.mentions)
        left_out["mention_beyond_the_cut"] += beyond
        left_out["mention_touched_by_a_cut"] += len(document.mentions) - beyond - whole_mentions
    if not segments:
        raise CorpusError(
            f"The coreference corpus cannot be used: no part of at most {max_tokens} tokens of its "
            f"{counted(len(documents), 'document')} has two mentions. Raise --max-tokens."
        )
    return MentionSample(
        segments,
        len(documents),
        sum(segment.size for segment in segments),
        sum(len(segment.mentions) for segment in segments),
        sorted_counts(left_out),
    )


def _stretches(
    document: MentionDocument, tokens: NDArray[np.int64], room: int, windows: bool
) -> Iterator[tuple[int, int]]:
    """First word and one past the last word of each part that fits. tokens: [words]."""
    ends = np.cumsum(tokens)
    sentence_starts = np.asarray(document.sentences, dtype=np.int64)
    start = 0
    while start < len(tokens):
        before = ends[start - 1] if start else 0
        end = int(np.searchsorted(ends, before + room, side="right"))
        if windows and end < len(tokens):
            boundaries = sentence_starts[(sentence_starts > start) & (sentence_starts <= end)]
            end = int(boundaries[-1]) if len(boundaries) else end
        end = max(end, start + 1)
        if ends[end - 1] - before <= room:
            yield start, end
        if not windows:
            return
        start = end


def _segment(
    document: MentionDocument, encoded: Encoding, frame: Frame, start: int, end: int, number: int
) -> MentionSegment:
    return MentionSegment(
        id=f"{document.id}.{number}",
        **framed_words(encoded, frame, start, end),
        text=document.words[start:end],
        document=document.id,
        tags=document.tags[start:end],
        mentions=tuple(
            replace(mention, start=mention.start - start, end=mention.end - start, head=mention.head - start)
            for mention in document.mentions
            if mention.start >= start and mention.end <= end
        ),
    )
