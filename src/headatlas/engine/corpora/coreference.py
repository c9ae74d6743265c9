"""Documents with mentions, in windows of what the model sees at once (paper, section 4.3: only the first)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.corpora.coreference.read import CoreferenceFormat, read_coreference
from headatlas.corpora.files import name_files
from headatlas.corpora.sample import sample_treebank
from headatlas.engine.corpora.kind import Corpus, CorpusKind, Gold, Reading
from headatlas.engine.corpora.treebank import split_share
from headatlas.wording import counted

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from headatlas.encoding.mention_segments import MentionSegment
    from headatlas.encoding.segments import Segment
    from headatlas.store.reading import Store

MENTION_TOKENS = 36  # of an example: room for a mention and its antecedent


class CoreferenceCorpus(CorpusKind):
    """Documents with coreference chains."""

    name = "coreference"
    help = "Documents with coreference chains: CoNLL-2012, CoNLL-U with Entity=, or bracket columns."
    called = "coreference corpus"
    formats = CoreferenceFormat
    read_by = ("coreference_format",)

    def read(self, files: Sequence[Path], tokenizer: PreTrainedTokenizerBase, reading: Reading) -> Corpus:
        from headatlas.encoding.mention_segments import mention_segments
        from headatlas.encoding.word_segments import split_words

        left_out: Counter[str] = Counter()
        sample = mention_segments(
            read_coreference(files, reading.format_of("coreference"), left_out),
            tokenizer,
            max_tokens=reading.max_tokens,
            windows=reading.definitions == "ours",
        )
        about = {
            "documents": sample.documents,
            "segments": len(sample.segments),
            "words": sample.words,
            "tokens": sum(map(len, sample.segments)),
            "mentions": sample.mentions,
            "split_words": split_words(sample.segments),
        }
        return Corpus(sample.segments, about, {**left_out, **sample.left_out})

    def sample(self) -> list[Path]:
        return [sample_treebank()]

    def describe(self, about: Mapping[str, Any]) -> str:
        stretches = "1 stretch" if about["segments"] == 1 else f"{about['segments']:,} stretches"
        return (
            f"{counted(about['mentions'], 'mention')} ({stretches} of {counted(about['words'], 'word')}) in "
            f"{counted(about['documents'], 'document')} of {name_files(about['files'])}{split_share(about)}"
        )

    def why_not_stored(self, store: Store) -> str | None:
        return "stored inputs have no mentions; survey the model itself with --coreference."

    def examples(self, segments: Sequence[Segment]) -> list[Segment]:
        """Stretches cut after a sentence where possible, with at least one mention that has an antecedent."""
        from headatlas.studies.coreference_baselines import antecedents

        stretches = (shorten_mentions(_as_mentions(segment), MENTION_TOKENS) for segment in segments)
        return [stretch for stretch in stretches if any(antecedents(stretch.mentions))]

    def gold(self, segment: Segment, about: Mapping[str, Any]) -> Gold:
        return Gold(mentions=_as_mentions(segment).mentions)


def shorten_mentions(segment: MentionSegment, most_tokens: int) -> MentionSegment:
    """Keep the first words that fit, up to the end of a sentence if one ends among them, and the mentions within."""
    from headatlas.encoding.word_segments import first_words, whole_sentences

    size = whole_sentences(segment, most_tokens)
    if size == segment.size:
        return segment
    return replace(
        segment,
        **first_words(segment, size),
        tags=segment.tags[:size],
        mentions=tuple(mention for mention in segment.mentions if mention.end <= size),
    )


def _as_mentions(segment: Segment) -> MentionSegment:
    from headatlas.encoding.mention_segments import MentionSegment

    assert isinstance(segment, MentionSegment)
    return segment
