"""Documents with keyphrases as model inputs: which words belong to a keyphrase, and windows where a text is too long.

A document longer than the model's input becomes windows that overlap by a quarter. A word that lies in two of them
counts in the one with the cut further away, so every word counts once and with text on both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headatlas.commands.keyphrases.candidates import between_stop_words, candidate_lengths, find_candidates
from headatlas.commands.keyphrases.phrases import OUTSIDE, Words, gold_stems, split_words, tag_words
from headatlas.commands.keyphrases.reading import KeyphraseDocument
from headatlas.encoding.template import single_frame
from headatlas.encoding.word_segments import WordSegment, encode_words, framed_words, sorted_counts, tokens_per_word
from headatlas.errors import CorpusError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

OVERLAP = 4  # neighbouring windows share one part in four


@dataclass(frozen=True)
class KeyphraseSegment(WordSegment):
    """A document, or a window of it, with a tag for each word."""

    first: int  # the number of its first word in the document
    tags: NDArray[np.int64]  # [size], into TAGS
    counted: NDArray[np.bool_]  # [size], the words that count here and not in a neighbouring window
    lengths: NDArray[np.int64]  # [size], the number of words of the candidate that each word stands in, or 0


@dataclass
class KeyphraseSample:
    """The documents of a corpus as model inputs, and counts of what was read and left out."""

    segments: list[KeyphraseSegment]
    documents: int
    words: int
    keyphrases: int
    found: int  # the keyphrases that occur in their text
    in_windows: int  # documents longer than the model's input
    left_out: dict[str, int] = field(default_factory=dict)  # reason -> how many


def keyphrase_segments(
    documents: Iterable[KeyphraseDocument], tokenizer: PreTrainedTokenizerBase, *, max_tokens: int
) -> KeyphraseSample:
    """Encode every document whole, in windows where it is longer than `max_tokens`."""
    left_out: Counter[str] = Counter()
    documents = list(documents)
    texts = [split_words(document.text) for document in documents]
    tags, keyphrases, in_text = [], 0, 0
    for document, words in zip(documents, texts, strict=True):
        phrases = gold_stems(document)
        document_tags, occurring = tag_words(words, phrases)
        tags.append(document_tags)
        keyphrases += len(phrases)
        in_text += occurring
    ids = [document.id for document in documents]
    segments = list(text_windows(ids, texts, tokenizer, max_tokens, left_out, tags))
    if not segments:
        raise CorpusError(
            "The keyphrase corpus cannot be used: its texts turn into no tokens. Is it in a script that this model's "
            "tokenizer knows?"
        )
    if not in_text:
        raise CorpusError(
            f"None of the {keyphrases:,} keyphrases occurs in the text of its document. Check that they belong to "
            "these documents."
        )
    left_out["keyphrase_not_in_text"] = keyphrases - in_text
    in_windows = left_out.pop("document_in_windows", 0)
    return KeyphraseSample(
        segments,
        len(documents),
        sum(map(len, texts)),
        keyphrases,
        in_text,
        in_windows,
        sorted_counts(left_out),
    )


def text_windows(
    ids: Sequence[str],
    texts: Sequence[Words],
    tokenizer: PreTrainedTokenizerBase,
    max_tokens: int,
    left_out: Counter[str],
    tags: Sequence[NDArray[np.int64]] | None = None,
) -> Iterator[KeyphraseSegment]:
    """Stream the windows of texts that are split into words; without `tags` every word is outside."""
    frame = single_frame(tokenizer)
    room = frame.room(max_tokens)
    encodings = encode_words((words.words for words in texts), tokenizer)
    for number, (name, words, encoded) in enumerate(zip(ids, texts, encodings, strict=True)):
        word_tags = tags[number] if tags is not None else np.full(len(words), OUTSIDE, dtype=np.int64)
        tokens = tokens_per_word(encoded, len(words))
        left_out["word_without_tokens"] += int((tokens == 0).sum())
        left_out["word_longer_than_the_model"] += int((tokens > room).sum())
        lengths = candidate_lengths(words, find_candidates(words, between_stop_words))
        spans = [span for span in windows_of(tokens, room) if tokens[slice(*span)].any()]
        left_out["document_in_windows"] += len(spans) > 1
        for place, (start, end) in enumerate(spans):
            counted = np.zeros(end - start, dtype=np.bool_)
            before = spans[place - 1][1] if place else start
            after = spans[place + 1][0] if place + 1 < len(spans) else end
            counted[_middle(start, before) - start : _middle(after, end) - start] = True
            yield KeyphraseSegment(
                id=f"{name}.{place}",
                **framed_words(encoded, frame, start, end),
                text=words.words[start:end],
                document=name,
                first=start,
                tags=word_tags[start:end],
                counted=counted,
                lengths=lengths[start:end],
            )


def windows_of(tokens: NDArray[np.int64], room: int) -> list[tuple[int, int]]:
    """First word and one past the last of each window. tokens: [words]; a word longer than the room is in none."""
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
