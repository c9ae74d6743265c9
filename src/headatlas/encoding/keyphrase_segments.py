"""Documents with keyphrases as model inputs: which words belong to a keyphrase, and windows where a text is too long.

A document longer than the model's input becomes windows that overlap by a quarter; a word that lies in two
of them counts in the one whose cut is further away, so every word counts once and with text on both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headatlas.corpora.keyphrases.key_words import OUTSIDE, gold_stems, tag_words
from headatlas.corpora.keyphrases.phrases import Words, split_words
from headatlas.corpora.keyphrases.read import KeyphraseDocument
from headatlas.encoding.template import Frame, require_fast, single_frame
from headatlas.encoding.word_segments import WordSegment, encode_words
from headatlas.errors import CorpusError

if TYPE_CHECKING:
    from tokenizers import Encoding
    from transformers import PreTrainedTokenizerBase

OVERLAP = 4  # windows share one part in so many


@dataclass(frozen=True)
class KeyphraseSegment(WordSegment):
    """A document, or a window of it, with a tag for each word."""

    first: int  # its first word's number in the document
    tags: NDArray[np.int64]  # [size], into TAGS
    counted: NDArray[np.bool_]  # [size], the words that count here and not in a neighbouring window


@dataclass
class KeyphraseSample:
    """The documents of a corpus as model inputs, and what was read and left out on the way."""

    segments: list[KeyphraseSegment]
    documents: int
    words: int
    keyphrases: int
    found: int  # of them, those that stand in their text
    in_windows: int  # documents longer than the model's input
    left_out: dict[str, int] = field(default_factory=dict)  # reason -> how many


def keyphrase_segments(
    documents: Iterable[KeyphraseDocument], tokenizer: PreTrainedTokenizerBase, *, max_tokens: int
) -> KeyphraseSample:
    """Encode every document whole, in windows where it is longer than `max_tokens`."""
    left_out: Counter[str] = Counter()
    documents = list(documents)
    texts = [split_words(document.text) for document in documents]
    tags, given, found = [], 0, 0
    for document, words in zip(documents, texts, strict=True):
        phrases = gold_stems(document)
        own, there = tag_words(words, phrases)
        tags.append(own)
        given += len(phrases)
        found += there
    ids = [document.id for document in documents]
    segments = list(text_windows(ids, texts, tokenizer, max_tokens, left_out, tags))
    if not segments:
        raise CorpusError("The keyphrase corpus gives nothing to read: its texts turn into no tokens.")
    if not found:
        raise CorpusError(
            f"None of the {given:,} keyphrases stands in the text of its document, so no word is key. Do they belong "
            "to these documents?"
        )
    left_out["keyphrase_not_in_text"] = given - found
    in_windows = left_out.pop("document_in_windows", 0)
    return KeyphraseSample(
        segments,
        len(documents),
        sum(map(len, texts)),
        given,
        found,
        in_windows,
        {reason: count for reason, count in sorted(left_out.items()) if count},
    )


def text_windows(
    ids: Sequence[str],
    texts: Sequence[Words],
    tokenizer: PreTrainedTokenizerBase,
    max_tokens: int,
    left_out: Counter[str],
    tags: Sequence[NDArray[np.int64]] | None = None,
) -> Iterator[KeyphraseSegment]:
    """The windows of texts that have been cut into words; without `tags` every word is outside."""
    require_fast(tokenizer)
    frame = single_frame(tokenizer)
    room = frame.room(max_tokens)
    encodings = encode_words((words.words for words in texts), tokenizer)
    for number, (name, words, encoded) in enumerate(zip(ids, texts, encodings, strict=True)):
        own = tags[number] if tags is not None else np.full(len(words), OUTSIDE, dtype=np.int64)
        tokens = np.bincount(np.asarray(encoded.word_ids, dtype=np.int64), minlength=len(words))
        left_out["word_without_tokens"] += int((tokens == 0).sum())
        left_out["word_longer_than_the_model"] += int((tokens > room).sum())
        spans = [span for span in windows_of(tokens, room) if tokens[slice(*span)].any()]
        left_out["document_in_windows"] += len(spans) > 1
        for place, (start, end) in enumerate(spans):
            counted = np.zeros(end - start, dtype=np.bool_)
            before = spans[place - 1][1] if place else start
            after = spans[place + 1][0] if place + 1 < len(spans) else end
            counted[_middle(start, before) - start : _middle(after, end) - start] = True
            yield _segment(f"{name}.{place}", name, words, encoded, frame, (start, end), own, counted)


def windows_of(tokens: NDArray[np.int64], room: int) -> list[tuple[int, int]]:
    """First word and one past the last of each window. tokens: [words]; a word longer than the room stands in none."""
    ends = np.cumsum(tokens)
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(tokens):
        before = int(ends[start - 1]) if start else 0
        end = int(np.searchsorted(ends, before + room, side="right"))
        if end == start:
            start += 1
            continue
        spans.append((start, end))
        if end >= len(tokens):
            break
        least_room, shared = int(ends[end]) - room, int(ends[end - 1]) - room // OVERLAP
        start = min(end, 1 + int(np.searchsorted(ends, max(least_room, shared))))
    return spans


def _middle(start: int, end: int) -> int:
    return (start + max(start, end)) // 2


def _segment(
    name: str,
    document: str,
    words: Words,
    encoded: Encoding,
    frame: Frame,
    span: tuple[int, int],
    tags: NDArray[np.int64],
    counted: NDArray[np.bool_],
) -> KeyphraseSegment:
    start, end = span
    word_ids = np.asarray(encoded.word_ids, dtype=np.int32)
    inside = (word_ids >= start) & (word_ids < end)
    ids = np.asarray(encoded.ids, dtype=np.int32)[inside]
    return KeyphraseSegment(
        id=name,
        ids=frame.ids(ids),
        type_ids=frame.type_ids(ids),
        words=frame.words(word_ids[inside] - start),
        text=words.words[start:end],
        document=document,
        first=start,
        tags=tags[start:end],
        counted=counted,
    )
