"""Documents with keyphrases, whole or in windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.commands.keyphrases import FILES
from headatlas.commands.keyphrases.reading import TWO_LISTS, KeyphraseFormat, read_keyphrases
from headatlas.corpora.files import name_files
from headatlas.engine.corpora import Corpus, CorpusKind, Gold, Reading
from headatlas.wording import counted

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from headatlas.commands.keyphrases.segments import KeyphraseSegment
    from headatlas.encoding.segments import Segment

DOCUMENT_TOKENS = 60  # of an example: a title and a sentence or two


class KeyphraseCorpus(CorpusKind):
    """Documents with keyphrases."""

    name = "keyphrases"
    help = f"Documents with keyphrases: {FILES}."
    called = "keyphrase corpus"
    formats = KeyphraseFormat
    folders = True
    read_by = ("keyphrases_format", "max_tokens")

    def read(self, files: Sequence[Path], tokenizer: PreTrainedTokenizerBase, reading: Reading) -> Corpus:
        from headatlas.commands.keyphrases.segments import keyphrase_segments

        left_out: Counter[str] = Counter()
        documents = read_keyphrases(files, reading.format_of("keyphrases"), left_out)
        sample = keyphrase_segments(documents, tokenizer, max_tokens=reading.max_tokens)
        about = {
            "documents": sample.documents,
            "segments": len(sample.segments),
            "words": sample.words,
            "tokens": sum(map(len, sample.segments)),
            "keyphrases": sample.keyphrases,
            "keyphrases_in_text": sample.found,
            "documents_in_windows": sample.in_windows,
            "documents_with_two_lists": left_out.pop(TWO_LISTS, 0),
        }
        return Corpus(sample.segments, about, {**left_out, **sample.left_out})

    def describe(self, about: Mapping[str, Any]) -> str:
        return (
            f"{counted(about['keyphrases'], 'keyphrase')}, {about['keyphrases_in_text']:,} in the text, of "
            f"{counted(about['documents'], 'document')} ({counted(about['words'], 'word')}) of "
            f"{name_files(about['files'])}"
        )

    def picture(self, segment: Segment) -> Segment:
        return shorten_document(_as_keyphrases(segment), DOCUMENT_TOKENS)

    def examples(self, segments: Sequence[Segment]) -> list[Segment]:
        """Beginnings of documents that hold a word of a keyphrase."""
        beginnings = [
            shorten_document(segment, DOCUMENT_TOKENS)
            for segment in map(_as_keyphrases, segments)
            if segment.first == 0
        ]
        return [segment for segment in beginnings if segment.tags.any()]

    def gold(self, segment: Segment, about: Mapping[str, Any]) -> Gold:
        from headatlas.commands.keyphrases.phrases import OUTSIDE

        return Gold(key=tuple((_as_keyphrases(segment).tags != OUTSIDE).tolist()))


def shorten_document(segment: KeyphraseSegment, most_tokens: int) -> KeyphraseSegment:
    """Keep the first words that fit, up to the end of a sentence if one ends among them, with their tags."""
    from headatlas.encoding.word_segments import first_words, whole_sentences

    size = whole_sentences(segment, most_tokens)
    by_word = {name: getattr(segment, name)[:size] for name in ("tags", "counted", "lengths")}
    return replace(segment, **first_words(segment, size), **by_word)


def _as_keyphrases(segment: Segment) -> KeyphraseSegment:
    from headatlas.commands.keyphrases.segments import KeyphraseSegment

    assert isinstance(segment, KeyphraseSegment)
    return segment
