"""The parts of a survey: one corpus each, read and encoded for the model, with the studies that watch it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headatlas.commands.survey.settings import SurveySettings
from headatlas.corpora.coreference.read import read_coreference
from headatlas.corpora.keyphrases.read import read_keyphrases
from headatlas.corpora.text import read_text
from headatlas.corpora.treebanks.label_sets import (
    LABEL_SETS,
    labels_of,
    possessive_clitic,
    punctuation_of,
)
from headatlas.corpora.treebanks.parsing import parse_text
from headatlas.corpora.treebanks.read import read_treebank
from headatlas.encoding.keyphrase_segments import keyphrase_segments
from headatlas.encoding.mention_segments import mention_segments
from headatlas.encoding.segments import Segment, sample_segments
from headatlas.encoding.unknown import count_unknown
from headatlas.encoding.word_segments import ParsedSample, parsed_segments
from headatlas.models.model import Model
from headatlas.studies import TEXT_STUDIES, Study
from headatlas.studies.coreference import Coreference
from headatlas.studies.dependencies import Dependencies
from headatlas.studies.keyphrases import Keyphrases
from headatlas.studies.similarity import SIMILARITY_SMOOTHING, Similarity

FEWEST_DOCUMENTS = 8  # to choose a head on half of them and score it on the other; with fewer, sentences are halved


@dataclass(frozen=True)
class Part:
    """One corpus as the model sees it, the studies that watch, and what the manifest says of it."""

    name: str
    segments: Sequence[Segment]
    studies: dict[str, Study]
    about: dict[str, Any]
    left_out: dict[str, int]
    trees: ParsedSample | None = None  # a treebank's sentences
    control: Dependencies | None = None  # to watch the network with random weights


def read_parts(
    model: Model, files: dict[str, list[Path]], chosen: Sequence[str], settings: SurveySettings, causal: bool
) -> list[Part]:
    """Read every corpus that a chosen study needs, and count what of it the tokenizer does not know."""
    parts = []
    if names := [name for name in chosen if name in TEXT_STUDIES]:
        parts.append(_text(model, files["text"], names, settings, causal))
    if "dependencies" in chosen:
        parts.append(_treebank(model, files["treebank"], settings, causal))
    if "coreference" in chosen:
        parts.append(_coreference(model, files["coreference"], settings, causal))
    if "keyphrases" in chosen:
        parts.append(_keyphrases(model, files["keyphrases"], settings, causal))
    for part in parts:
        part.about["unknown"] = count_unknown(part.segments, model.tokenizer)
    return parts


def _text(model: Model, files: list[Path], names: Sequence[str], settings: SurveySettings, causal: bool) -> Part:
    """Plain text as pre-training style segments (paper, section 3)."""
    sample = sample_segments(
        read_text(files, settings.text_format),
        model.tokenizer,
        count=settings.segments,
        max_tokens=settings.max_tokens,
        seed=settings.seed,
        style=settings.segment_style,
        zero_token_types=settings.zero_token_types,
    )
    about = {
        "documents": sample.documents,
        "lines": sample.lines,
        "segments_available": sample.available,
        "segments": len(sample.segments),
        "segment_style": sample.style,
        "tokens": sum(map(len, sample.segments)),
    }
    return Part("text", sample.segments, text_studies(names, settings, causal), about, sample.left_out)


def text_studies(names: Sequence[str], settings: SurveySettings, causal: bool) -> dict[str, Study]:
    """The studies of plain text, with their settings."""
    options: dict[str, Any] = {"causal": causal, "seed": settings.seed, "replicates": settings.bootstrap}
    own: dict[str, dict[str, Any]] = {
        Similarity.name: {
            "per_token": settings.per_token,
            "smoothing": SIMILARITY_SMOOTHING if settings.smooth_similarity else 0.0,
            "clusters": settings.clusters,
            "map_distance": settings.map_distance,
        }
    }
    return {name: TEXT_STUDIES[name](**options, **own.get(name, {})) for name in names}


def _treebank(model: Model, files: list[Path], settings: SurveySettings, causal: bool) -> Part:
    """Sentences with trees, one an input (paper, section 4.2)."""
    left_out: Counter[str] = Counter()
    if settings.parse_with:
        trees = list(parse_text(read_text(files, settings.text_format), settings.parse_with, left_out))
    else:
        trees = list(read_treebank(files, settings.treebank_format, left_out))
    labels = labels_of(trees) if settings.label_set == "auto" else LABEL_SETS[settings.label_set]
    sample = parsed_segments(
        trees,
        model.tokenizer,
        max_tokens=settings.max_tokens,
        counts_as=lambda sentence: possessive_clitic(sentence, labels),
    )
    about = {
        "documents": sample.documents,
        "sentences": len(sample.segments),
        "words": sample.words,
        "tokens": sum(map(len, sample.segments)),
        "label_set": labels.name,
        "relations": list(sample.relations),
        "halved_by": halved_by(sample),
        "parsed_by": settings.parse_with,
    }
    studies = [dependency_study(about, settings, causal) for _ in range(1 + settings.control)]
    left_out.update(sample.left_out)
    observed: dict[str, Study] = {Dependencies.name: studies[0]}
    control = studies[1] if settings.control else None
    return Part("treebank", sample.segments, observed, about, dict(left_out), sample, control)


def dependency_study(about: Mapping[str, Any], settings: SurveySettings, causal: bool) -> Dependencies:
    """The study of a treebank, with its settings. about: what the manifest says of the treebank."""
    return Dependencies(
        about["relations"],
        punctuation=punctuation_of(about["label_set"]),
        how=settings.words_from,
        clamp_offsets=settings.clamp_offsets,
        least_count=settings.least_count,
        folds_by=about["halved_by"],
        seed=settings.seed,
        replicates=settings.bootstrap,
        permutations=settings.bootstrap,
        causal=causal,
    )


def _coreference(model: Model, files: list[Path], settings: SurveySettings, causal: bool) -> Part:
    """Documents with mentions, cut to what the model sees at once (paper, section 4.3)."""
    left_out: Counter[str] = Counter()
    sample = mention_segments(
        read_coreference(files, settings.coreference_format, left_out),
        model.tokenizer,
        max_tokens=settings.max_tokens,
        windows=settings.coreference_windows,
    )
    about = {
        "documents": sample.documents,
        "segments": len(sample.segments),
        "words": sample.words,
        "tokens": sum(map(len, sample.segments)),
        "mentions": sample.mentions,
    }
    studies: dict[str, Study] = {Coreference.name: coreference_study(settings, causal)}
    return Part("coreference", sample.segments, studies, about, {**left_out, **sample.left_out})


def coreference_study(settings: SurveySettings, causal: bool) -> Coreference:
    """The study of a coreference corpus, with its settings."""
    return Coreference(
        how=settings.words_from,
        seed=settings.seed,
        replicates=settings.bootstrap,
        permutations=settings.bootstrap,
        causal=causal,
    )


def _keyphrases(model: Model, files: list[Path], settings: SurveySettings, causal: bool) -> Part:
    """Documents with keyphrases, whole or in windows."""
    left_out: Counter[str] = Counter()
    sample = keyphrase_segments(
        read_keyphrases(files, settings.keyphrase_format, left_out), model.tokenizer, max_tokens=settings.max_tokens
    )
    about = {
        "documents": sample.documents,
        "segments": len(sample.segments),
        "words": sample.words,
        "tokens": sum(map(len, sample.segments)),
        "keyphrases": sample.keyphrases,
        "keyphrases_in_text": sample.found,
        "documents_in_windows": sample.in_windows,
    }
    studies: dict[str, Study] = {Keyphrases.name: keyphrase_study(settings, causal)}
    return Part("keyphrases", sample.segments, studies, about, {**left_out, **sample.left_out})


def keyphrase_study(settings: SurveySettings, causal: bool) -> Keyphrases:
    """The study of a keyphrase corpus, with its settings."""
    return Keyphrases(causal, seed=settings.seed, replicates=settings.bootstrap)


def halved_by(sample: ParsedSample) -> Any:
    """What is halved for held-out scores: documents, or sentences where documents are few."""
    return "document" if sample.documents >= FEWEST_DOCUMENTS else "sentence"
