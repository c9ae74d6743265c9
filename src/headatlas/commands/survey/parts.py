"""The parts of a survey: one corpus each, read and encoded for the model, with the studies that see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.commands.survey.options import SurveyOptions
from headatlas.commands.survey.studies import StudySettings
from headatlas.corpora.coreference.read import read_coreference
from headatlas.corpora.keyphrases.read import read_keyphrases
from headatlas.corpora.text import read_text
from headatlas.corpora.treebanks.label_sets import LABEL_SETS, LabelSet, labels_of, possessive_clitic
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.corpora.treebanks.sentence import Sentence
from headatlas.corpora.treebanks.spacy_docs import parse_text
from headatlas.encoding.keyphrase_segments import KeyphraseSample, keyphrase_segments
from headatlas.encoding.mention_segments import MentionSample, mention_segments
from headatlas.encoding.segments import Segment, sample_segments
from headatlas.encoding.unknown import count_unknown
from headatlas.encoding.word_segments import ParsedSample, parsed_segments
from headatlas.models.model import Model
from headatlas.studies import STUDIES, Study
from headatlas.studies.dependencies import Dependencies

FEWEST_DOCUMENTS = 8  # to choose a head on half of them and score it on the other; with fewer, sentences are halved


@dataclass(frozen=True)
class Part:
    """One corpus as the model sees it, the studies that see the model, and what the manifest says about it."""

    name: str
    segments: Sequence[Segment]
    studies: dict[str, Study]
    about: dict[str, Any]
    left_out: dict[str, int]
    trees: ParsedSample | None = None  # a treebank's sentences
    control: Dependencies | None = None  # sees the model with random weights


def read_parts(
    model: Model, files: dict[str, list[Path]], chosen: Sequence[str], options: SurveyOptions, causal: bool
) -> list[Part]:
    """Read every corpus that a chosen study needs, and count the tokens that the tokenizer does not know."""
    readers = {"text": _text, "treebank": _treebank, "coreference": _coreference, "keyphrases": _keyphrases}
    corpora = {STUDIES[name].corpus for name in chosen}
    settings = StudySettings(options, options.seed, causal)
    parts = [
        read(model, files[corpus], chosen, options, settings) for corpus, read in readers.items() if corpus in corpora
    ]
    for part in parts:
        part.about["unknown"] = count_unknown(part.segments, model.tokenizer)
    return parts


def _text(
    model: Model, files: list[Path], chosen: Sequence[str], options: SurveyOptions, settings: StudySettings
) -> Part:
    """Plain text as pre-training style segments (paper, section 3)."""
    sample = sample_segments(
        read_text(files, options.format_of("text")),
        model.tokenizer,
        count=options.segments,
        max_tokens=options.max_tokens,
        seed=options.seed,
        style=options.segment_style,
        zero_token_types=options.as_published,
    )
    about = {
        "documents": sample.documents,
        "lines": sample.lines,
        "segments_available": sample.available,
        "segments": len(sample.segments),
        "segment_style": sample.style,
        "tokens": sum(map(len, sample.segments)),
    }
    return Part("text", sample.segments, settings.studies_of("text", chosen, about), about, sample.left_out)


def _treebank(
    model: Model, files: list[Path], chosen: Sequence[str], options: SurveyOptions, settings: StudySettings
) -> Part:
    """Sentences with trees, one per input (paper, section 4.2)."""
    left_out: Counter[str] = Counter()
    if options.parse_with:
        trees = list(parse_text(read_text(files, options.format_of("text")), options.parse_with, left_out))
    else:
        trees = list(read_treebank(files, options.format_of("treebank"), left_out))
    labels = label_set_of(trees, options)
    sample = parsed_segments(
        trees,
        model.tokenizer,
        max_tokens=options.max_tokens,
        counts_as=lambda sentence: possessive_clitic(sentence, labels),
    )
    left_out.update(sample.left_out)
    tokens = sum(map(len, sample.segments))
    about = describe_treebank(sample, labels, tokens, options.parse_with)
    studies = settings.studies_of("treebank", chosen, about)
    control = settings.dependencies(about) if options.control else None
    return Part("treebank", sample.segments, studies, about, dict(left_out), sample, control)


def label_set_of(trees: Sequence[Sentence], options: SurveyOptions) -> LabelSet:
    """Return the set of relations that was named, or the one that the trees use."""
    name = options.format_of("labels")
    return labels_of(trees) if name == "auto" else LABEL_SETS[name]


def describe_treebank(sample: ParsedSample, labels: LabelSet, tokens: int, parser: str | None) -> dict[str, Any]:
    """Describe a treebank for the manifest."""
    return {
        "documents": sample.documents,
        "sentences": len(sample.segments),
        "words": sample.words,
        "tokens": tokens,
        "label_set": labels.name,
        "relations": list(sample.relations),
        "halved_by": "document" if sample.documents >= FEWEST_DOCUMENTS else "sentence",  # for held-out scores
        "parsed_by": parser,
    }


def _coreference(
    model: Model, files: list[Path], chosen: Sequence[str], options: SurveyOptions, settings: StudySettings
) -> Part:
    """Documents with mentions, in windows of what the model sees at once (paper, section 4.3: only the first)."""
    left_out: Counter[str] = Counter()
    sample = mention_segments(
        read_coreference(files, options.format_of("coreference"), left_out),
        model.tokenizer,
        max_tokens=options.max_tokens,
        windows=options.whole_documents,
    )
    about = _count_documents(sample) | {"mentions": sample.mentions}
    studies = settings.studies_of("coreference", chosen, about)
    return Part("coreference", sample.segments, studies, about, {**left_out, **sample.left_out})


def _keyphrases(
    model: Model, files: list[Path], chosen: Sequence[str], options: SurveyOptions, settings: StudySettings
) -> Part:
    """Documents with keyphrases, whole or in windows."""
    left_out: Counter[str] = Counter()
    documents = read_keyphrases(files, options.format_of("keyphrases"), left_out)
    sample = keyphrase_segments(documents, model.tokenizer, max_tokens=options.max_tokens)
    about = _count_documents(sample) | {
        "keyphrases": sample.keyphrases,
        "keyphrases_in_text": sample.found,
        "documents_in_windows": sample.in_windows,
    }
    studies = settings.studies_of("keyphrases", chosen, about)
    return Part("keyphrases", sample.segments, studies, about, {**left_out, **sample.left_out})


def _count_documents(sample: MentionSample | KeyphraseSample) -> dict[str, int]:
    return {
        "documents": sample.documents,
        "segments": len(sample.segments),
        "words": sample.words,
        "tokens": sum(map(len, sample.segments)),
    }
