"""`keyphrases`: find the keyphrases of documents by attention, and say how well that goes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.commands.keyphrases import baselines
from headatlas.commands.keyphrases.candidates import Candidate, between_stop_words, find_candidates, with_tagger
from headatlas.commands.keyphrases.choosing import HeadChoice, found_on, key_words, named, no_heads, shipped
from headatlas.commands.keyphrases.documents import Document, of_texts, sample_documents, with_keyphrases
from headatlas.commands.keyphrases.evaluation import score_table
from headatlas.commands.keyphrases.extraction import Scored, combined, score_candidates
from headatlas.commands.keyphrases.finetuning import TuningSettings, tune_and_question
from headatlas.commands.keyphrases.settings import KeyphraseSettings, check_sources
from headatlas.commands.keyphrases.tables import curve_table, found_table, weights_table, words_table
from headatlas.commands.keyphrases.word_weights import Weights, word_weights
from headatlas.corpora.files import Files, describe_files, find_files
from headatlas.corpora.keyphrases.read import KeyphraseDocument, KeyphraseFormat, read_keyphrases
from headatlas.corpora.text import TextFormat, read_text
from headatlas.encoding.unknown import UnknownCounts
from headatlas.engine.locking import alone_in_out
from headatlas.errors import SettingError
from headatlas.files import make_folder
from headatlas.models.identity import describe_model, model_identity
from headatlas.models.loading import choose_device, choose_dtype, open_model
from headatlas.models.model import Model, check_length
from headatlas.probes.keyphrases import combine_heads
from headatlas.results.atlas import Atlas, open_atlas, write_manifest, write_tables
from headatlas.results.finished import already_done
from headatlas.versions import moment, versions

TUNING_TOKENS = 1024  # of a training step
LONGEST_WINDOW = 512  # tokens; longer documents are read in windows, and models of longer inputs are slow on them


@alone_in_out("keyphrases")
def keyphrases(
    model: str | Model,
    *,
    out: str | Path,
    text: Files | None = None,
    data: Files | None = None,
    train: Files | None = None,
    heads: Sequence[str] | None = None,
    atlas: str | Path | None = None,
    pooling: str = "mean",
    rows: str = "all",
    candidates: str | None = None,
    top: int = 10,
    documents: int = 500,
    max_tokens: int | None = None,
    batch_tokens: int = 4096,
    bootstrap: int = 1000,
    seed: int = 0,
    device: str = "auto",
    dtype: str = "float32",
    revision: str | None = None,
    text_format: TextFormat = "auto",
    keyphrase_format: KeyphraseFormat = "auto",
    finetune: bool = False,
    epochs: int = 3,
    rate: float = 1e-4,
    trust_remote_code: bool = False,
    progress: bool = True,
) -> Atlas:
    """Find the keyphrases of documents by the attention that their words receive, and return the folder of tables.

    >>> found = keyphrases("embedded", text="paper.txt", out="phrases")      # doctest: +SKIP
    >>> found.tables["keyphrases"].query("rank <= 5")                         # doctest: +SKIP

    text: documents as `survey` reads them.
    data: documents with keyphrases, on which the phrases are scored beside those of TF-IDF, TextRank, YAKE (where it is
        installed) and their order in the text.
    train: other documents with keyphrases: heads are chosen on them, and with `data` combinations of heads scored.
    heads: or name the heads; by default those that ship with headatlas, for the embedded model.
    atlas: a survey of the same model, whose behaviours stand beside the weights of heads.
    pooling, rows: received attention is the mean or max of a column, over all rows or those of text.
    candidates: a spaCy pipeline whose adjectives and nouns make candidates; by default runs between stop words.
    finetune: train the model on `train` to tag keyphrases, `epochs` times at most at this `rate`; then remove its heads
        and prune it (folders `tagger`, `ablation`, `pruned`), scored on `data`.
    top: phrases kept of each document. documents: at most so many of `data`, and of `train`.
    """
    started, began = time.monotonic(), moment()
    folder = Path(out)
    settings = KeyphraseSettings(
        heads=tuple(heads) if heads is not None else None,
        pooling=pooling,
        rows=rows,
        candidates=candidates,
        top=top,
        documents=documents,
        max_tokens=max_tokens,
        batch_tokens=batch_tokens,
        bootstrap=bootstrap,
        seed=seed,
        finetune=finetune,
        epochs=epochs,
        rate=rate,
        text_format=text_format,
        keyphrase_format=keyphrase_format,
    )
    settings.check()
    check_sources(text, data, train, finetune)
    given = {"text": text, "data": data, "train": train}
    files = {
        name: find_files(paths, name, folders=name != "text") for name, paths in given.items() if paths is not None
    }
    choose_device(device), choose_dtype(dtype)
    loading: dict[str, Any] = {"revision": revision, "device": device, "dtype": dtype, "seed": seed}
    model = open_model(model, **loading, trust_remote_code=trust_remote_code)
    described = {name: describe_files(paths) for name, paths in files.items()}
    decisive = model_identity(model, model.default_stack) | {
        "corpora": {name: [record["sha256"] for record in records] for name, records in described.items()},
        "atlas": None if atlas is None else str(atlas),
        **asdict(settings),
        "heads": list(heads) if heads is not None else None,
    }
    if already_done(folder, decisive):
        return Atlas(folder)
    extraction = Extraction(model, settings, progress)
    tables, about = extraction.run(files, _behaviours(atlas))
    if finetune:
        tables["keyphrase_taggers"], about["tagger"] = extraction.fine_tune(files, folder)
    make_folder(folder)
    write_manifest(
        folder,
        {
            "complete": True,
            "started": began,
            "finished": moment(),
            "seconds": round(time.monotonic() - started, 1),
            "settings": decisive,
            "model": describe_model(model, model.default_stack),
            "corpora": {name: {"files": described[name], **part} for name, part in about.pop("corpora").items()},
            **about,
            "tables": write_tables(folder, tables),
            "versions": versions("scikit-learn", "snowballstemmer"),
        },
    )
    return Atlas(folder)


class Extraction:
    """One model with its settings, ready to read documents."""

    def __init__(self, model: Model, settings: KeyphraseSettings, progress: bool) -> None:
        self._model, self._settings, self._progress = model, settings, progress
        longest = min(model.longest_input or LONGEST_WINDOW, LONGEST_WINDOW)
        self._max_tokens = settings.max_tokens or longest
        check_length(self._max_tokens, model.longest_input, model.name)
        self._shape = model.shapes[model.default_stack]
        self._spans = with_tagger(settings.candidates) if settings.candidates else between_stop_words

    def run(
        self, files: Mapping[str, list[Path]], behaviours: Mapping[tuple[int, int], Sequence[str]]
    ) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
        """All tables, and what the manifest says."""
        settings, shape = self._settings, self._shape
        choice = self._given_choice("train" in files)
        corpora: dict[str, Any] = {}
        trained: tuple[list[Document], list[Weights]] | None = None
        if "train" in files:
            found, left_out = self._read(files["train"])
            documents = with_keyphrases(found)
            weights, unknown = self._weights(documents, settings.pooling, settings.rows, left_out)
            trained = documents, weights
            corpora["train"] = _about(documents, left_out, unknown)
            if choice is None:
                choice = found_on(documents, weights, self._candidates(documents), settings.pooling, settings.rows)
        if choice is None:
            raise no_heads(self._model)
        scored_name = "data" if "data" in files else "text"
        if scored_name == "data":
            found, left_out = self._read(files["data"])
            documents = with_keyphrases(found)
        else:
            left_out = Counter()
            documents = of_texts(read_text(files["text"], settings.text_format), left_out)
        weights, unknown = self._weights(documents, choice.pooling, choice.rows, left_out)
        candidates = self._candidates(documents)
        scored = [
            score_candidates(own, combined(received, choice.heads))
            for own, received in zip(candidates, weights, strict=True)
        ]
        corpora[scored_name] = _about(documents, left_out, unknown)
        tables = {
            "keyphrases": found_table(documents, scored, settings.top),
            "keyphrase_words": words_table(documents, weights, choice.heads, scored, settings.top),
        }
        skipped: dict[str, str] = {}
        if scored_name == "data":
            rankings, skipped = rank_all(documents, candidates, scored)
            tables["keyphrase_scores"] = score_table(
                rankings, documents, seed=settings.seed, resamplings=settings.bootstrap
            )
            if trained is not None:
                together = combine_heads(
                    key_words(*trained),
                    key_words(documents, weights),
                    seed=settings.seed,
                    resamplings=settings.bootstrap,
                )
                tables["keyphrase_curve"] = curve_table(together, len(documents))
                tables["keyphrase_weights"] = weights_table(together, shape, behaviours)
        chosen = {"names": choice.names(shape), "pooling": choice.pooling, "rows": choice.rows, "origin": choice.origin}
        return tables, {"corpora": corpora, "heads_chosen": chosen, "studies_skipped": skipped}

    def fine_tune(self, files: Mapping[str, list[Path]], folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Train a tagger on `train`, ask which heads it needs, and score it on `data`."""
        settings = self._settings
        return tune_and_question(
            self._model,
            self._read(files["train"])[0],
            self._read(files["data"])[0],
            folder,
            TuningSettings(settings.epochs, settings.rate, TUNING_TOKENS, settings.seed),
            max_tokens=self._max_tokens,
            batch_tokens=settings.batch_tokens,
            bootstrap=settings.bootstrap,
            progress=self._progress,
        )

    def _given_choice(self, training: bool) -> HeadChoice | None:
        settings = self._settings
        if settings.heads is not None:
            return named(settings.heads, self._shape, self._model.name, settings.pooling, settings.rows)
        found = None if training else shipped(self._model)
        if found is None and not training:
            raise no_heads(self._model)
        return found

    def _read(self, files: Sequence[Path]) -> tuple[list[KeyphraseDocument], Counter[str]]:
        left_out: Counter[str] = Counter()
        found = list(read_keyphrases(files, self._settings.keyphrase_format, left_out))
        chosen = sample_documents(found, self._settings.documents, self._settings.seed)
        if len(chosen) < len(found):
            left_out["document_not_sampled"] = len(found) - len(chosen)
        return chosen, left_out

    def _weights(
        self, documents: Sequence[Document], pooling: str, rows: str, left_out: Counter[str]
    ) -> tuple[list[Weights], UnknownCounts]:
        return word_weights(
            self._model,
            documents,
            pooling=pooling,
            rows=rows,
            stack=self._model.default_stack,
            max_tokens=self._max_tokens,
            batch_tokens=self._settings.batch_tokens,
            left_out=left_out,
            progress=self._progress,
        )

    def _candidates(self, documents: Sequence[Document]) -> list[list[Candidate]]:
        return [find_candidates(document.words, self._spans) for document in documents]


def rank_all(
    documents: Sequence[Document], candidates: Sequence[Sequence[Candidate]], scored: Sequence[Sequence[Scored]]
) -> tuple[dict[str, list[baselines.Ranked]], dict[str, str]]:
    """The ranking of every method for every document; and which method could not run, and why."""
    methods = {
        "tf_idf": baselines.by_tf_idf(documents),
        "text_rank": baselines.by_text_rank,
        "position": baselines.by_position,
    }
    skipped = {}
    if (yake := baselines.by_yake()) is not None:
        methods["yake"] = yake
    else:
        skipped["yake"] = "the package yake is not installed (pip install yake)."
    rankings = {"heads": [[one.candidate.stems for one in own] for own in scored]}
    for name, rank in methods.items():
        rankings[name] = [rank(document, own) for document, own in zip(documents, candidates, strict=True)]
    return rankings, skipped


def _about(documents: Sequence[Document], left_out: Counter[str], unknown: UnknownCounts) -> dict[str, Any]:
    """What the manifest says of documents."""
    return {
        "kind": "documents",
        "documents": len(documents),
        "words": sum(len(document.words) for document in documents),
        "unknown": unknown,
        "documents_in_windows": left_out.pop("document_in_windows", 0),
        "left_out": {reason: count for reason, count in sorted(left_out.items()) if count},
    }


def _behaviours(atlas: str | Path | None) -> dict[tuple[int, int], list[str]]:
    """What each head is known for in a survey."""
    if atlas is None:
        return {}
    tables = open_atlas(atlas).tables
    if "behaviours" not in tables:
        raise SettingError(f"--atlas {atlas}: has no table of behaviours. Give the folder of a survey.")
    found: dict[tuple[int, int], list[str]] = {}
    for row in tables["behaviours"].to_dict("records"):
        found.setdefault((int(row["layer"]), int(row["head"])), []).append(str(row["label"]))
    return found
