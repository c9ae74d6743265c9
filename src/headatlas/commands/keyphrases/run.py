"""`keyphrases`: find the keyphrases of documents by attention, and say how well that works."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.commands.keyphrases.candidates import (
    Candidate,
    Scored,
    between_stop_words,
    combined,
    find_candidates,
    score_candidates,
    with_tagger,
)
from headatlas.commands.keyphrases.choosing import HeadChoice, found_on, key_words, named, no_heads, shipped
from headatlas.commands.keyphrases.documents import Document, of_texts, with_keyphrases
from headatlas.commands.keyphrases.evaluation import rank_all, score_table
from headatlas.commands.keyphrases.finetuning import tune_and_question
from headatlas.commands.keyphrases.options import KeyphraseOptions
from headatlas.commands.keyphrases.word_weights import WordWeights, word_weights
from headatlas.commands.shared.options import list_names
from headatlas.corpora.files import describe_files, find_files
from headatlas.corpora.keyphrases.key_words import OUTSIDE, tag_words
from headatlas.corpora.keyphrases.read import KeyphraseDocument, read_keyphrases
from headatlas.corpora.sampling import sample
from headatlas.corpora.text import read_text
from headatlas.errors import SettingError
from headatlas.files import make_folder
from headatlas.models.identity import describe_model, model_identity
from headatlas.models.loading import choose_device
from headatlas.models.model import Model, check_length
from headatlas.models.stacks import HeadShape
from headatlas.probes.keyphrases import Combination, combine_heads
from headatlas.results.atlas import Atlas, already_done, open_atlas, write_manifest, write_tables
from headatlas.versions import moment, versions

LONGEST_WINDOW = 512  # tokens; longer documents are read in windows, and models of longer inputs are slow on them
SHOWN = 12  # documents whose words are kept, to be drawn
Behaviours = Mapping[tuple[int, int], Sequence[str]]


def run_keyphrases(options: KeyphraseOptions) -> Atlas:
    """Choose heads, score the candidates of every document by them, compare with other methods, write the tables."""
    started, began = time.monotonic(), moment()
    folder = Path(options.out)
    files = {
        name: find_files(getattr(options, name), name, folders=name != "text")
        for name in ("text", "data", "train")
        if getattr(options, name) is not None
    }
    choose_device(options.placed_on)
    model = options.load(options.model, seed=options.seed)
    described = {name: describe_files(paths) for name, paths in files.items()}
    settings = {
        **model_identity(model, model.default_stack),
        **options.settings(),
        "corpora": {name: [record["sha256"] for record in records] for name, records in described.items()},
    }
    if already_done(folder, settings):
        return Atlas(folder)
    max_tokens = options.max_tokens or min(model.longest_input or LONGEST_WINDOW, LONGEST_WINDOW)
    check_length(max_tokens, model.longest_input, model.name)
    tables, about = _find_phrases(model, files, options, max_tokens, _read_behaviours(options.atlas))
    if options.finetune:
        train, data = (_read_documents(files[name], options)[0] for name in ("train", "data"))
        tables["keyphrase_taggers"], about["tagger"] = tune_and_question(model, train, data, options, max_tokens)
    make_folder(folder)
    write_manifest(
        folder,
        {
            "complete": True,
            "started": began,
            "finished": moment(),
            "seconds": round(time.monotonic() - started, 1),
            "settings": settings,
            "model": describe_model(model, model.default_stack),
            "corpora": {name: {"files": described[name], **part} for name, part in about.pop("corpora").items()},
            **about,
            "tables": write_tables(folder, tables),
            "versions": versions("scikit-learn", "snowballstemmer"),
        },
    )
    return Atlas(folder)


@dataclass(frozen=True)
class ReadDocuments:
    """Documents with their candidates and what their words receive from every head."""

    documents: list[Document]
    candidates: list[list[Candidate]]
    weights: list[WordWeights]
    about: dict[str, Any]  # for the manifest


def _find_phrases(
    model: Model, files: Mapping[str, list[Path]], options: KeyphraseOptions, max_tokens: int, behaviours: Behaviours
) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Make all tables but that of taggers, and what the manifest says."""
    shape = model.shapes[model.default_stack]
    choice, trained = _named_or_shipped(model, options), None
    if "train" in files:
        corpus, left_out = _read_documents(files["train"], options)
        trained = _weigh(model, with_keyphrases(corpus), options.pooling, options.rows, left_out, options, max_tokens)
        if choice is None:
            how = (options.pooling, options.rows)
            choice = found_on(trained.documents, trained.weights, trained.candidates, *how)
    if choice is None:
        raise no_heads(model)
    if "data" in files:
        corpus, left_out = _read_documents(files["data"], options)
        documents = with_keyphrases(corpus)
    else:
        left_out = Counter()
        documents = of_texts(read_text(files["text"], options.format_of("text")), left_out)
    read = _weigh(model, documents, choice.pooling, choice.rows, left_out, options, max_tokens)
    scored = [
        score_candidates(candidates, combined(received, choice.heads))
        for candidates, received in zip(read.candidates, read.weights, strict=True)
    ]
    tables = {
        "keyphrases": _phrases_table(documents, scored, options.top),
        "keyphrase_words": _words_table(documents, read.weights, choice.heads, scored, options.top),
    }
    skipped: dict[str, str] = {}
    drawing = {"seed": options.seed, "resamplings": options.bootstrap}
    if "data" in files:
        rankings, skipped = rank_all(documents, read.candidates, scored)
        tables["keyphrase_scores"] = score_table(rankings, documents, **drawing)
    if "data" in files and trained is not None:
        words = [key_words(part.documents, part.weights) for part in (trained, read)]
        combination = combine_heads(words[0], words[1], **drawing)
        tables["keyphrase_curve"] = _curve_table(combination, len(documents))
        tables["keyphrase_weights"] = _weights_table(combination, shape, behaviours)
    corpora = {"train": trained.about} if trained is not None else {}
    corpora["data" if "data" in files else "text"] = read.about
    chosen = {"names": choice.names(shape), "pooling": choice.pooling, "rows": choice.rows, "origin": choice.origin}
    return tables, {"corpora": corpora, "heads_chosen": chosen, "studies_skipped": skipped}


def _named_or_shipped(model: Model, options: KeyphraseOptions) -> HeadChoice | None:
    """The heads that are named, or those that ship; None if they are to be found on --train."""
    if (names := list_names(options.heads)) is not None:
        return named(names, model.shapes[model.default_stack], model.name, options.pooling, options.rows)
    if options.train is not None:
        return None
    if (choice := shipped(model)) is None:
        raise no_heads(model)
    return choice


def _read_documents(files: Sequence[Path], options: KeyphraseOptions) -> tuple[list[KeyphraseDocument], Counter[str]]:
    left_out: Counter[str] = Counter()
    documents = list(read_keyphrases(files, options.format_of("keyphrases"), left_out))
    chosen = sample(documents, options.documents, options.seed)
    if len(chosen) < len(documents):
        left_out["document_not_sampled"] = len(documents) - len(chosen)
    return chosen, left_out


def _weigh(
    model: Model,
    documents: list[Document],
    pooling: str,
    rows: str,
    left_out: Counter[str],
    options: KeyphraseOptions,
    max_tokens: int,
) -> ReadDocuments:
    """Find the candidates of documents and what each of their words receives."""
    spans = with_tagger(options.candidates) if options.candidates else between_stop_words
    weights, unknown = word_weights(
        model,
        documents,
        pooling=pooling,
        rows=rows,
        stack=model.default_stack,
        max_tokens=max_tokens,
        batch_tokens=options.batch_tokens,
        left_out=left_out,
        progress=options.progress,
    )
    about = {
        "kind": "documents",
        "documents": len(documents),
        "words": sum(len(document.words) for document in documents),
        "unknown": unknown,
        "documents_in_windows": left_out.pop("document_in_windows", 0),
        "left_out": {reason: count for reason, count in sorted(left_out.items()) if count},
    }
    return ReadDocuments(documents, [find_candidates(document.words, spans) for document in documents], weights, about)


def _read_behaviours(atlas: str | Path | None) -> dict[tuple[int, int], list[str]]:
    """Read what each head is known for in a survey."""
    if atlas is None:
        return {}
    tables = open_atlas(atlas).tables
    if "behaviours" not in tables:
        raise SettingError(f"--atlas {atlas}: has no table of behaviours. Give the folder of a survey.")
    behaviours: dict[tuple[int, int], list[str]] = {}
    for row in tables["behaviours"].to_dict("records"):
        behaviours.setdefault((int(row["layer"]), int(row["head"])), []).append(str(row["label"]))
    return behaviours


def _phrases_table(documents: Sequence[Document], scored: Sequence[Sequence[Scored]], top: int) -> pd.DataFrame:
    """document, rank, phrase, score, right: the first phrases of every document."""
    rows = [
        (document.id, rank, phrase.candidate.text, phrase.score, _is_right(document, phrase))
        for document, phrases in zip(documents, scored, strict=True)
        for rank, phrase in enumerate(phrases[:top], start=1)
    ]
    return pd.DataFrame(rows, columns=["document", "rank", "phrase", "score", "right"]).astype({"right": "boolean"})


def _words_table(
    documents: Sequence[Document],
    weights: Sequence[WordWeights],
    heads: Sequence[int],
    scored: Sequence[Sequence[Scored]],
    top: int,
) -> pd.DataFrame:
    """document, place, line, word, weight, found, key: the first documents word by word."""
    rows: list[tuple[object, ...]] = []
    for document, received, phrases in list(zip(documents, weights, scored, strict=True))[:SHOWN]:
        tags, _ = tag_words(document.words, document.gold)
        places = [place for phrase in phrases[:top] for place in phrase.candidate.places]
        listed = {word for start, end in places for word in range(start, end)}
        words = zip(document.words.words, document.words.lines, combined(received, heads).tolist(), tags, strict=True)
        for place, (word, line, weight, tag) in enumerate(words):
            key = bool(tag != OUTSIDE) if document.gold else None
            rows.append((document.id, place, line, word, weight, place in listed, key))
    columns = ["document", "place", "line", "word", "weight", "found", "key"]
    return pd.DataFrame(rows, columns=columns).astype({"found": "boolean", "key": "boolean"})


def _curve_table(combination: Combination, documents: int) -> pd.DataFrame:
    """method, heads, precision, recall, f1, low, high, count."""
    return pd.DataFrame([vars(point) for point in combination.curve]).assign(count=documents)


def _weights_table(combination: Combination, shape: HeadShape, behaviours: Behaviours) -> pd.DataFrame:
    """layer, head, rank, coefficient, share, behaviours: what each head counts, and what it is known for elsewhere."""
    rows = [
        (*place, int(rank) + 1, coefficient, share, ", ".join(behaviours.get(place, ())))
        for place, rank, coefficient, share in zip(
            shape.numbered, combination.rank, combination.coefficient.tolist(), combination.share.tolist(), strict=True
        )
    ]
    return pd.DataFrame(rows, columns=["layer", "head", "rank", "coefficient", "share", "behaviours"])


def _is_right(document: Document, phrase: Scored) -> bool | None:
    return phrase.candidate.stems in document.gold if document.gold else None
