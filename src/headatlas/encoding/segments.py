"""Segments as in pre-training: ``[CLS] A [SEP] B [SEP]`` from consecutive lines (paper, section 3, Setup).

The lines of a document are gathered until the target length is reached and split at a random line boundary into A and
B; then the longer side loses a token at a time, at random from its front or back, until the pair fits.

Every segment of a corpus has the same chance to be sampled: those with the smallest hashes of seed and id are kept. So
one pass suffices, memory does not grow with the corpus, and the same seed picks the same segments.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from headatlas.choices import SegmentStyle as SegmentStyle
from headatlas.corpora.sampling import stable_hash
from headatlas.corpora.text import TextLine
from headatlas.encoding.template import Frame, leading_space, pair_frame, plain_backend, single_frame
from headatlas.errors import CorpusError, SettingError
from headatlas.wording import counted

if TYPE_CHECKING:
    from tokenizers import Encoding
    from transformers import PreTrainedTokenizerBase

LINES_AT_ONCE = 512


@dataclass(frozen=True)
class Segment:
    """One encoded input of the model, without padding.

    Attributes:
        id: What tells it apart from all others, on every machine: "file.document.chunk", each from 0 in reading order.
        ids: The id of each token, [n].
        type_ids: The type of each token, 0 or 1, [n].
        words: The index of each token's word, -1 for special tokens, [n].
    """

    id: str
    ids: NDArray[np.int32]
    type_ids: NDArray[np.uint8]
    words: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ids)


def document_of(segment: Segment) -> str:
    """The document that a segment belongs to: the one it names, or its id without the number of the chunk.

    Ids without a dot name no document, so all such inputs count as one.
    """
    return str(getattr(segment, "document", "")) or segment.id.rpartition(".")[0]


@dataclass
class SegmentSample:
    """The sampled segments in reading order, and counts of what was read and left out."""

    segments: list[Segment]
    style: Literal["pair", "single"]
    available: int  # segments in the whole corpus
    documents: int
    lines: int
    left_out: dict[str, int] = field(default_factory=dict)  # reason -> how many


@dataclass(frozen=True)
class _Chunk:
    id: str
    lines: list[Encoding]


def sample_segments(
    lines: Iterable[TextLine],
    tokenizer: PreTrainedTokenizerBase,
    *,
    count: int,
    max_tokens: int,
    seed: int,
    style: SegmentStyle = "auto",
    zero_token_types: bool = False,
) -> SegmentSample:
    """Read a corpus once and sample at most `count` of its segments.

    `zero_token_types` leaves all token type ids 0, as the paper's released extractor does.
    """
    if count < 1:
        raise SettingError(f"You asked for {count} segments. Ask for at least 1.")
    frame, style = _choose_frame(tokenizer, style)
    least_lines = 2 if style == "pair" else 1
    room = frame.room(max_tokens, least_lines)
    left_out: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    sampled: list[tuple[int, int, Segment, int]] = []  # a heap, largest key on top: -key, order, segment, tokens cut
    for order, chunk in enumerate(_chunks(lines, tokenizer, room, least_lines, left_out, totals)):
        totals["segments"] += 1
        key = stable_hash(f"{seed} {chunk.id}")
        if len(sampled) == count and key > -sampled[0][0]:
            continue
        segment = _segment(chunk, frame, room, style, seed, zero_token_types)
        entry = (-key, order, segment, max(0, sum(map(len, chunk.lines)) - room))
        if len(sampled) < count:
            heapq.heappush(sampled, entry)
        else:
            heapq.heapreplace(sampled, entry)
    if not sampled:
        raise CorpusError(_why_nothing(left_out))
    sampled.sort(key=lambda entry: entry[1])
    if cut := sum(entry[3] for entry in sampled):
        left_out["token_cut_to_fit"] = cut
    return SegmentSample(
        [entry[2] for entry in sampled],
        style,
        totals["segments"],
        totals["documents"],
        totals["lines"],
        dict(sorted(left_out.items())),
    )


def _choose_frame(tokenizer: PreTrainedTokenizerBase, style: SegmentStyle) -> tuple[Frame, Literal["pair", "single"]]:
    pair = None if style == "single" else pair_frame(tokenizer)
    if pair is not None:
        return pair, "pair"
    if style == "pair":
        raise SettingError(
            f"{type(tokenizer).__name__} puts no separator between two spans, so it cannot make segments such as "
            "[CLS] A [SEP] B [SEP]. Use --segment-style single."
        )
    return single_frame(tokenizer), "single"


def _chunks(
    lines: Iterable[TextLine],
    tokenizer: PreTrainedTokenizerBase,
    room: int,
    least_lines: int,
    left_out: Counter[str],
    totals: Counter[str],
) -> Iterator[_Chunk]:
    """Gather the encoded lines of each document into chunks of at least `room` tokens; the last may be shorter."""
    files: dict[Path, int] = {}
    encoded_lines = encode_lines(lines, tokenizer)
    for (path, document), group in groupby(encoded_lines, lambda pair: (pair[0].path, pair[0].document)):
        name = f"{files.setdefault(path, len(files))}.{document}"
        gathered: list[Encoding] = []
        number = 0
        totals["documents"] += 1
        for _, encoded in group:
            totals["lines"] += 1
            if not len(encoded):
                left_out["line_without_tokens"] += 1
                continue
            gathered.append(encoded)
            if len(gathered) >= least_lines and sum(map(len, gathered)) >= room:
                yield _Chunk(f"{name}.{number}", gathered)
                gathered = []
                number += 1
        if len(gathered) >= least_lines:
            yield _Chunk(f"{name}.{number}", gathered)
        elif gathered:
            left_out["line_without_a_partner" if number else "document_of_one_line"] += 1


def encode_lines(lines: Iterable[TextLine], tokenizer: PreTrainedTokenizerBase) -> Iterator[tuple[TextLine, Encoding]]:
    """Encode lines in blocks, without special tokens; a line within a document as one that follows another."""
    backend = plain_backend(tokenizer)
    lead = leading_space(backend)
    stream = iter(lines)
    previous: tuple[object, int] | None = None
    while block := list(islice(stream, LINES_AT_ONCE)):
        texts = []
        for line in block:
            here = (line.path, line.document)
            texts.append(lead + line.text if here == previous else line.text)
            previous = here
        yield from zip(block, backend.encode_batch(texts, add_special_tokens=False), strict=True)


def _segment(chunk: _Chunk, frame: Frame, room: int, style: str, seed: int, zero_token_types: bool) -> Segment:
    rng = random.Random(f"{seed} {chunk.id}")
    boundaries = [0, len(chunk.lines)]
    if style == "pair":
        boundaries.insert(1, rng.randint(1, len(chunk.lines) - 1))
    tokens_before = np.cumsum([0, *map(len, chunk.lines)]).tolist()
    sides = [[tokens_before[first], tokens_before[last]] for first, last in pairwise(boundaries)]  # start and end
    while sum(end - start for start, end in sides) > room:
        longer = max(sides, key=lambda side: side[1] - side[0])
        if style == "pair" and rng.random() < 0.5:
            longer[0] += 1
        else:
            longer[1] -= 1
    ids = np.asarray([token for line in chunk.lines for token in line.ids], dtype=np.int32)
    words = np.asarray(_number_words(chunk.lines), dtype=np.int32)
    spans = [ids[start:end] for start, end in sides]
    types = frame.type_ids(*spans)
    framed_words = frame.words(*(words[start:end] for start, end in sides))
    return Segment(chunk.id, frame.ids(*spans), np.zeros_like(types) if zero_token_types else types, framed_words)


def _number_words(lines: list[Encoding]) -> list[int]:
    """The word of each token, numbered through all lines."""
    words: list[int] = []
    first = 0
    for line in lines:
        numbers = [first + (word or 0) for word in line.word_ids]
        words += numbers
        first = max(numbers) + 1
    return words


def _why_nothing(left_out: Counter[str]) -> str:
    if left_out["document_of_one_line"]:
        return (
            f"The text gives no segment: {counted(left_out['document_of_one_line'], 'document')} of one line, and a "
            "pair A, B needs two. Put one sentence on each line, or add --format text=paragraphs, which splits lines "
            "into sentences, or --segment-style single."
        )
    if left_out["line_without_tokens"]:
        return (
            f"The text gives no segment: its {left_out['line_without_tokens']:,} lines turn into no tokens. "
            "Is the text in a script that this model's tokenizer knows?"
        )
    return "The text gives no segment: it is empty."
