"""`keyphrases`: find the keyphrases of documents by attention, and say how well that works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.commands.keyphrases.candidates import (
    Candidate,
    ReportWords,
    Scored,
    find_candidates,
    score_candidates,
    spans_by,
)
from headatlas.commands.keyphrases.choosing import HeadChoice, decide_scoring, find_heads, key_words, named, shipped
from headatlas.commands.keyphrases.combination import Combination, combine_heads
from headatlas.commands.keyphrases.evaluation import score_tables
from headatlas.commands.keyphrases.finetuning import tune_and_question
from headatlas.commands.keyphrases.methods import Texts, combined, rank_all
from headatlas.commands.keyphrases.options import KeyphraseOptions
from headatlas.commands.keyphrases.phrases import OUTSIDE, Document, of_texts, tag_words, with_keyphrases
from headatlas.commands.keyphrases.ranking import HeadRanking
from headatlas.commands.keyphrases.reading import TWO_LISTS, KeyphraseDocument, read_keyphrases
from headatlas.commands.keyphrases.segments import KeyphraseSegment
from headatlas.commands.keyphrases.tables import KEYPHRASE_WORDS, KEYPHRASES
from headatlas.commands.keyphrases.word_weights import encode_documents, uniform_weights, word_weights
from headatlas.commands.shared.options import list_names
from headatlas.corpora.files import describe_files, find_files
from headatlas.corpora.sampling import draw
from headatlas.corpora.text import read_text
from headatlas.encoding.unknown import count_unknown
from headatlas.engine.run_folder import RunFolder
from headatlas.errors import SettingError
from headatlas.manifest import Produced
from headatlas.models.facts import check_length, describe_model, model_identity
from headatlas.models.loading import choose_device
from headatlas.models.model import Model
from headatlas.models.stacks import HeadShape
from headatlas.progress import stage
from headatlas.results.atlas import open_atlas
from headatlas.results.folder import Results, write_tables
from headatlas.studies.labels import labels_of

LONGEST_WINDOW = 512  # tokens; longer documents are read in windows, and models of longer inputs are slow on them
SHOWN = 12  # documents whose words are kept, to be drawn
Behaviours = Mapping[tuple[int, int], Sequence[str]]


def run_keyphrases(options: KeyphraseOptions) -> Results:
    """Choose heads, score the candidates of every document by them, compare with other methods, write the tables."""
    with RunFolder(options.out, "keyphrases") as run:
        _find_keyphrases(options, run)
        return Results(run.folder)


def _find_keyphrases(options: KeyphraseOptions, run: RunFolder) -> None:
    files = {
        name: find_files(getattr(options, name), name, folders=name != "text")
        for name in ("train", "data", "text")
        if getattr(options, name) is not None
    }
    choose_device(options.placed_on)
    model = options.load(options.model, seed=options.seed)
    described = {name: describe_files(paths) for name, paths in files.items()}
    hashes = {name: [record["sha256"] for record in records] for name, records in described.items()}
    if run.finished(model_identity(model, model.default_stack) | options.settings() | {"corpora": hashes}):
        return
    max_tokens = options.max_tokens or min(model.longest_input or LONGEST_WINDOW, LONGEST_WINDOW)
    check_length(max_tokens, model.network, model.tokenizer, model.name)
    behaviours = _read_behaviours(options.atlas)
    choice = _named_or_shipped(model, options)
    with stage(f"Reading {' and '.join(files)}"):
        corpora = {name: _read_corpus(name, paths, model, options, max_tokens) for name, paths in files.items()}
    run.begin(model=describe_model(model, model.default_stack))
    tables, found = _find_phrases(model, corpora, choice, options, behaviours, run)
    if options.finetune:
        train, data = corpora["train"].annotated, corpora["data"].annotated
        tables["keyphrase_taggers"], found["tagger"] = tune_and_question(model, train, data, options, max_tokens, run)
    found["corpora"] = {name: {"files": described[name], **corpus.about} for name, corpus in corpora.items()}
    found["tables"] = write_tables(run.folder, tables)
    run.finish(keep_state=False, **found)


@dataclass(frozen=True)
class Corpus:
    """Documents as the model reads them, and their candidates."""

    documents: list[Document]
    segments: list[KeyphraseSegment]
    candidates: dict[ReportWords, list[list[Candidate]]]  # the setting of the options first
    about: dict[str, Any]  # for the manifest
    annotated: list[KeyphraseDocument]  # the same documents with their keyphrases; none of plain text


def _read_corpus(name: str, files: Sequence[Path], model: Model, options: KeyphraseOptions, max_tokens: int) -> Corpus:
    """Read and encode the documents of an option, and find their candidates."""
    left_out: Counter[str] = Counter()
    annotated: list[KeyphraseDocument] = []
    if name == "text":
        documents = of_texts(read_text(files, options.format_of("text")), left_out)
    else:
        available = list(read_keyphrases(files, options.format_of("keyphrases"), left_out))
        annotated = draw(available, options.documents, options.seed)
        if len(annotated) < len(available):
            left_out["document_not_sampled"] = len(available) - len(annotated)
        documents = with_keyphrases(annotated)
    segments = encode_documents(documents, model.tokenizer, max_tokens, left_out)
    spans = spans_by(options.candidates)
    settings = sorted(spans, key=lambda setting: setting != options.report_words)
    candidates = {
        setting: [find_candidates(document.words, spans[setting]) for document in documents] for setting in settings
    }
    about = {
        "kind": "documents",
        "documents": len(documents),
        "words": sum(len(document.words) for document in documents),
        "unknown": count_unknown(segments, model.tokenizer),
        "documents_in_windows": left_out.pop("document_in_windows", 0),
        **(_describe_gold(documents, candidates[settings[0]], left_out) if annotated else {}),
        "left_out": {reason: count for reason, count in sorted(left_out.items()) if count},
    }
    return Corpus(documents, segments, candidates, about, annotated)


def _describe_gold(
    documents: Sequence[Document], candidates: Sequence[Sequence[Candidate]], left_out: Counter[str]
) -> dict[str, int]:
    """How many keyphrases are given, and how many of them can be found at all."""
    among = (
        len(document.gold & {candidate.stems for candidate in of_text})
        for document, of_text in zip(documents, candidates, strict=True)
    )
    return {
        "keyphrases": sum(len(document.gold) for document in documents),
        "keyphrases_in_text": sum(tag_words(document.words, document.gold)[1] for document in documents),
        "keyphrases_among_candidates": sum(among),
        "documents_with_two_lists": left_out.pop(TWO_LISTS, 0),
    }


def _find_phrases(
    model: Model,
    corpora: Mapping[str, Corpus],
    choice: HeadChoice | None,
    options: KeyphraseOptions,
    behaviours: Behaviours,
    run: RunFolder,
) -> tuple[dict[str, pd.DataFrame], Produced]:
    """Make all tables but that of taggers, and what the manifest says. choice: None to find heads on --train."""
    stack = model.default_stack
    shape, resampled = model.shapes[stack], {"seed": options.seed, "resamplings": options.bootstrap}

    def weigh(name: str, pooling: str, rows: str, ranking: HeadRanking | None = None) -> dict[ReportWords, Texts]:
        corpus = corpora[name]
        how: dict[str, Any] = {"pooling": pooling, "rows": rows, "stack": stack}
        saved: dict[str, Any] = {"run": run.part(name), "ranking": ranking}
        received = word_weights(
            model, corpus.documents, corpus.segments, batch_tokens=options.batch_tokens, **how, **saved
        )
        uniform = uniform_weights(corpus.documents, corpus.segments, **how)
        return {
            setting: Texts(corpus.documents, candidates, received, uniform)
            for setting, candidates in corpus.candidates.items()
        }

    train = None
    if "train" in corpora:
        form = (options.pooling, options.rows)
        train = next(iter(weigh("train", *form).values()))
        with stage("Choosing heads"):
            choice = (
                decide_scoring(choice, train, options.seed) if choice else find_heads(train, shape, *form, options.seed)
            )
    assert choice is not None
    name = "data" if "data" in corpora else "text"
    ranking = HeadRanking(choice.rows, options.seed) if name == "data" else None
    settings = weigh(name, choice.pooling, choice.rows, ranking)
    texts = next(iter(settings.values()))
    scored = [
        score_candidates(candidates, combined(received, choice.heads), choice.scoring.get("heads", "sum"))
        for candidates, received in zip(texts.candidates, texts.received, strict=True)
    ]
    tables = {
        "keyphrases": _phrases_table(texts.documents, scored, options.top),
        "keyphrase_words": _words_table(texts, choice.heads, scored, options.top),
    }
    skipped: dict[str, str] = {}
    if ranking:
        rankings = {}
        with stage("Scoring heads and other methods"):
            for setting, of_setting in settings.items():
                rankings[setting], skipped = rank_all(of_setting, choice.heads, choice.scoring, setting, options.seed)
            tables |= score_tables(rankings, texts.documents, **resampled)
        if (ranked_heads := ranking.table(shape, **resampled)) is not None:
            tables["keyphrase_ranking"] = ranked_heads
    if ranking and train:
        known, asked = (key_words(part.documents, part.received) for part in (train, texts))
        with stage("Combining heads"):
            combination = combine_heads(known, asked, **resampled)
        points = pd.DataFrame([vars(point) for point in combination.curve])
        tables["keyphrase_curve"] = points.assign(count=len(texts.documents))
        tables["keyphrase_weights"] = _weights_table(combination, shape, behaviours)
    return tables, {"heads_chosen": choice.record(shape), "studies_skipped": skipped}


def _named_or_shipped(model: Model, options: KeyphraseOptions) -> HeadChoice | None:
    """The heads that are named, or those that ship; None if they are to be found on --train."""
    if (names := list_names(options.heads)) is not None:
        return named(names, model.shapes[model.default_stack], model.name, options.pooling, options.rows)
    if options.train is not None:
        return None
    if (choice := shipped(model)) is None:
        raise SettingError(
            f"No heads are known that find keyphrases in {model.name}. Name some with --heads 5-4 6-11, or give "
            "documents with keyphrases to find them on with --train."
        )
    return choice


def _read_behaviours(atlas: str | Path | None) -> dict[tuple[int, int], list[str]]:
    """Read what each head is known for in a survey."""
    behaviours: dict[tuple[int, int], list[str]] = {}
    for row in labels_of(open_atlas(atlas).tables["behaviours"]).to_dict("records") if atlas is not None else ():
        behaviours.setdefault((int(row["layer"]), int(row["head"])), []).append(str(row["label"]))
    return behaviours


def _phrases_table(documents: Sequence[Document], scored: Sequence[Sequence[Scored]], top: int) -> pd.DataFrame:
    """The first phrases of every document."""
    rows = [
        (document.id, rank, phrase.candidate.text, phrase.score, _is_right(document, phrase))
        for document, phrases in zip(documents, scored, strict=True)
        for rank, phrase in enumerate(phrases[:top], start=1)
    ]
    return pd.DataFrame(rows, columns=KEYPHRASES.names)


def _words_table(texts: Texts, heads: Sequence[int], scored: Sequence[Sequence[Scored]], top: int) -> pd.DataFrame:
    """The first documents word by word."""
    rows: list[tuple[object, ...]] = []
    for document, received, phrases in list(zip(texts.documents, texts.received, scored, strict=True))[:SHOWN]:
        tags, _ = tag_words(document.words, document.gold)
        places = [place for phrase in phrases[:top] for place in phrase.candidate.places]
        listed = {word for start, end in places for word in range(start, end)}
        words = zip(document.words.words, document.words.lines, combined(received, heads).tolist(), tags, strict=True)
        for place, (word, line, weight, tag) in enumerate(words):
            key = bool(tag != OUTSIDE) if document.gold else None
            rows.append((document.id, place, line, word, weight, place in listed, key))
    return pd.DataFrame(rows, columns=KEYPHRASE_WORDS.names)


def _weights_table(combination: Combination, shape: HeadShape, behaviours: Behaviours) -> pd.DataFrame:
    """What each head counts, and what it is known for elsewhere."""
    frame = pd.DataFrame(shape.numbered, columns=["layer", "head"])
    known = [", ".join(behaviours.get(place, ())) for place in shape.numbered]
    counts = {"rank": combination.rank + 1, "coefficient": combination.coefficient, "share": combination.share}
    return frame.assign(**counts, behaviours=known)


def _is_right(document: Document, phrase: Scored) -> bool | None:
    return phrase.candidate.stems in document.gold if document.gold else None
