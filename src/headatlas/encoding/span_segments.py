"""Texts with span targets as model inputs. A text longer than the model's input is cut at its end.

A target that the cut touches is left out and counted, as is one with a span of words that have no token. Targets count
tokens here, from the first of the segment, which is a special token for most models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headatlas.corpora.coreference.mentions import MentionDocument
from headatlas.corpora.spans.spans import Span, SpanText, Target
from headatlas.corpora.spans.targets import coreference_targets
from headatlas.encoding.mention_segments import mention_segments
from headatlas.encoding.template import single_frame
from headatlas.encoding.word_segments import WordSegment, encode_words

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class TokenTarget:
    """A target with spans of tokens."""

    spans: tuple[Span, ...]  # first token and one past the last
    labels: tuple[str, ...]
    words: tuple[Span, ...]  # the same spans in words
    path: Path
    line: int | None


@dataclass(frozen=True)
class SpanSegment(WordSegment):
    """A text with the targets that lie completely within it, by task."""

    targets: Mapping[str, tuple[TokenTarget, ...]]


def span_segments(
    texts: Iterable[SpanText], tokenizer: PreTrainedTokenizerBase, *, max_tokens: int, left_out: Counter[str]
) -> list[SpanSegment]:
    """Encode every text that has a target; what is left out is counted by reason."""
    frame = single_frame(tokenizer)
    room = frame.room(max_tokens)
    texts = list(texts)
    segments = []
    for text, encoded in zip(texts, encode_words((text.words for text in texts), tokenizer), strict=True):
        if not len(encoded):
            left_out["text_without_tokens"] += 1
            continue
        left_out["text_cut_to_fit"] += len(encoded) > room
        ids = np.asarray(encoded.ids[:room], dtype=np.int32)
        words = frame.words(np.asarray(encoded.word_ids[:room], dtype=np.int32))
        whole = _whole_words(encoded.word_ids, room, len(text.words))
        targets = {
            task: tuple(_token_targets(given, words, whole, text.path, left_out))
            for task, given in text.targets.items()
        }
        if not any(targets.values()):
            left_out["text_without_target"] += 1
            continue
        segments.append(
            SpanSegment(
                id=text.id,
                ids=frame.ids(ids),
                type_ids=frame.type_ids(ids),
                words=words,
                text=text.words,
                document=text.id.rpartition(".")[0],
                targets=targets,
            )
        )
    return segments


def coreference_segments(
    documents: Iterable[MentionDocument],
    tokenizer: PreTrainedTokenizerBase,
    task: str,
    *,
    max_tokens: int,
    seed: int,
    left_out: Counter[str],
) -> list[SpanSegment]:
    """Encode documents in windows of whole sentences, with pairs of mentions within each (see `targets`)."""
    documents = list(documents)
    paths = {document.id: document.path for document in documents}
    sample = mention_segments(documents, tokenizer, max_tokens=max_tokens, windows=True)
    left_out.update(sample.left_out)
    segments = []
    for window in sample.segments:
        pairs = coreference_targets(window.mentions, window.id, seed)
        targets = tuple(_token_targets(pairs, window.words, window.size, paths[window.document], left_out))
        if not targets:
            left_out["text_without_target"] += 1
            continue
        fields = {name: getattr(window, name) for name in WordSegment.__dataclass_fields__}
        segments.append(SpanSegment(**fields, targets={task: targets}))
    return segments


def _whole_words(word_of: Sequence[int | None], room: int, words: int) -> int:
    """How many words of a text are complete when its tokens are cut to the room."""
    if len(word_of) <= room:
        return words
    last = word_of[room - 1] or 0
    return last + (word_of[room] != last)


def _token_targets(
    targets: Iterable[Target], words: NDArray[np.int32], whole: int, path: Path, left_out: Counter[str]
) -> Iterator[TokenTarget]:
    """The targets with their tokens. whole: how many words are complete."""
    for target in targets:
        if any(end > whole for _, end in target.spans):
            left_out["target_beyond_the_cut"] += 1
            continue
        spans = tuple(_tokens(words, span) for span in target.spans)
        if any(start == end for start, end in spans):
            left_out["target_without_tokens"] += 1
            continue
        yield TokenTarget(spans, target.labels, target.spans, path, target.line)


def _tokens(words: NDArray[np.int32], span: Span) -> Span:
    """The tokens of a span of words; an empty span if they have none."""
    places = np.flatnonzero((words >= span[0]) & (words < span[1]))
    return (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)
