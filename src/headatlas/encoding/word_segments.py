"""From given words to model inputs: which word each token belongs to (paper, section 4.1).

The words come from an annotated corpus and stay as they are. The tokenizer gets them one by one and says itself which
word a token comes from, so nothing is tokenized twice or matched by spelling. Each word gets the tokens that it has in
the text of the words joined by spaces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headatlas.corpora.treebanks.sentence import Sentence
from headatlas.encoding.segments import Segment
from headatlas.encoding.template import SPECIAL, Frame, leading_space, plain_backend, single_frame
from headatlas.errors import CorpusError
from headatlas.wording import counted

if TYPE_CHECKING:
    from tokenizers import Encoding
    from transformers import PreTrainedTokenizerBase

SENTENCES_AT_ONCE = 512
FITTING_TOKENS = 28  # as many as a picture shows well
SENTENCE_ENDS = frozenset(".?!")
NO_CLASS = -1


@dataclass(frozen=True)
class WordSegment(Segment):
    """A run of given words as the model sees it. A word may have no token.

    Attributes:
        text: Its words.
        document: The id of its document.
    """

    text: tuple[str, ...]
    document: str

    @property
    def size(self) -> int:
        """How many words it has."""
        return len(self.text)


@dataclass(frozen=True)
class ParsedSegment(WordSegment):
    """A sentence with its dependency tree."""

    heads: NDArray[np.int32]  # [size], index of each word's head, or ROOT
    relations: NDArray[np.int32]  # [size], into the sample's relations
    counts_as: NDArray[np.int32]  # [size], the word whose prediction counts for this one; nearly always itself
    classes: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """[size], coarse part of speech of each word, into the sample's classes, or NO_CLASS; empty if there are none."""


@dataclass
class ParsedSample:
    """The sentences of a treebank as model inputs, and counts of what was read and left out."""

    segments: list[ParsedSegment]
    relations: tuple[str, ...]  # sorted, including those of sentences that are left out
    classes: tuple[str, ...]  # sorted coarse parts of speech; empty if the treebank has none
    documents: int
    words: int
    left_out: dict[str, int] = field(default_factory=dict)  # reason -> how many


def parsed_segments(
    sentences: Iterable[Sentence],
    tokenizer: PreTrainedTokenizerBase,
    *,
    max_tokens: int,
    counts_as: Callable[[Sentence], Sequence[int]] | None = None,
) -> ParsedSample:
    """Encode every sentence of a treebank.

    A sentence longer than `max_tokens` is left out whole, since a cut would separate words from their heads; so is one
    without any token. A word without tokens stays a word of its sentence: it can neither predict nor be predicted.
    `counts_as` names, for each word, the word whose prediction counts in its place (see `possessive_clitic`).
    """
    frame = single_frame(tokenizer)
    frame.room(max_tokens)
    sentences = list(sentences)
    relations = tuple(sorted({relation for sentence in sentences for relation in sentence.relations}))
    classes = tuple(sorted({name for sentence in sentences for name in sentence.classes} - {""}))
    left_out: Counter[str] = Counter()
    segments = []
    encodings = encode_words((sentence.words for sentence in sentences), tokenizer)
    for sentence, encoded in zip(sentences, encodings, strict=True):
        if not len(encoded):
            left_out["sentence_without_tokens"] += 1
        elif len(encoded) + frame.size > max_tokens:
            left_out["sentence_too_long"] += 1
        else:
            left_out["word_without_tokens"] += len(sentence.words) - len(set(encoded.word_ids))
            stand_ins = counts_as(sentence) if counts_as else range(len(sentence.words))
            segments.append(_parsed(sentence, encoded, frame, relations, classes, stand_ins))
    if not segments:
        raise CorpusError(_why_nothing(left_out, max_tokens))
    return ParsedSample(
        segments,
        relations,
        classes,
        len({segment.document for segment in segments}),
        sum(segment.size for segment in segments),
        sorted_counts(left_out),
    )


def word_segments(
    sentences: Mapping[str, Sequence[str]], tokenizer: PreTrainedTokenizerBase, *, max_tokens: int
) -> dict[str, WordSegment]:
    """Encode sentences whose words are given, one input each, with the special tokens of the model.

    Args:
        sentences: The words of each sentence, by an id that no other sentence of the corpus has. What is before its
            last dot names the document.
        tokenizer: The tokenizer of the model.
        max_tokens: Maximum length of an input, including special tokens.

    Returns:
        The inputs by their ids. Sentences that are too long or have no tokens are left out.
    """
    frame = single_frame(tokenizer)
    frame.room(max_tokens)
    segments: dict[str, WordSegment] = {}
    for (name, words), encoded in zip(sentences.items(), encode_words(sentences.values(), tokenizer), strict=True):
        if 0 < len(encoded) <= max_tokens - frame.size:
            tokens = framed_words(encoded, frame, 0, len(words))
            segments[name] = WordSegment(id=name, **tokens, text=tuple(words), document=name.rpartition(".")[0])
    return segments


def encode_words(word_lists: Iterable[Sequence[str]], tokenizer: PreTrainedTokenizerBase) -> Iterator[Encoding]:
    """Encode lists of words, without special tokens; `word_ids` of an encoding gives the word of each token."""
    backend = plain_backend(tokenizer)
    lead = leading_space(backend)
    stream = iter(word_lists)
    while block := list(islice(stream, SENTENCES_AT_ONCE)):
        spans = [[lead * (place > 0) + word for place, word in enumerate(words)] for words in block]
        yield from backend.encode_batch(spans, is_pretokenized=True, add_special_tokens=False)


def framed_words(encoded: Encoding, frame: Frame, start: int, end: int) -> dict[str, Any]:
    """The tokens of the words from start to end within the frame, as arguments of a Segment."""
    word_ids = np.asarray(encoded.word_ids, dtype=np.int32)
    inside = (word_ids >= start) & (word_ids < end)
    ids = np.asarray(encoded.ids, dtype=np.int32)[inside]
    return {"ids": frame.ids(ids), "type_ids": frame.type_ids(ids), "words": frame.words(word_ids[inside] - start)}


def tokens_per_word(encoded: Encoding, words: int) -> NDArray[np.int64]:
    """How many tokens each word has, shape [words]."""
    return np.bincount(np.asarray(encoded.word_ids, dtype=np.int64), minlength=words)


def split_words(segments: Iterable[WordSegment]) -> int:
    """How many words the tokenizer splits into several pieces."""
    tokens = (np.bincount(segment.words[segment.words != SPECIAL]) for segment in segments)
    return sum(int((of_words > 1).sum()) for of_words in tokens)


def sorted_counts(left_out: Counter[str]) -> dict[str, int]:
    """The counts that are not 0, by name."""
    return {reason: count for reason, count in sorted(left_out.items()) if count}


def _parsed(
    sentence: Sentence,
    encoded: Encoding,
    frame: Frame,
    relations: Sequence[str],
    classes: Sequence[str],
    counts_as: Sequence[int],
) -> ParsedSegment:
    number_of = {name: number for number, name in enumerate(relations)}
    class_of = {name: number for number, name in enumerate(classes)}
    return ParsedSegment(
        id=sentence.id,
        **framed_words(encoded, frame, 0, len(sentence.words)),
        text=sentence.words,
        document=sentence.document,
        heads=np.asarray(sentence.heads, dtype=np.int32),
        relations=np.asarray([number_of[relation] for relation in sentence.relations], dtype=np.int32),
        counts_as=np.asarray(counts_as, dtype=np.int32),
        classes=np.asarray([class_of.get(name, NO_CLASS) for name in sentence.classes], dtype=np.int32),
    )


def _why_nothing(left_out: Counter[str], max_tokens: int) -> str:
    if too_long := left_out["sentence_too_long"]:
        return (
            f"No sentence of the treebank can be used: {too_long:,} are longer than {max_tokens} tokens, the rest have "
            "none. Raise --max-tokens."
        )
    if empty := left_out["sentence_without_tokens"]:
        return (
            f"No sentence of the treebank can be used: {counted(empty, 'sentence')} without a token. "
            "Is the text in a script that this model's tokenizer knows?"
        )
    return "No sentence of the treebank can be used: it is empty."


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
