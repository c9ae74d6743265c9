"""`probe`: maps of a training and a scoring treebank, every probe with every seed, and their tables."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from headatlas.corpora.files import Files, find_files
from headatlas.corpora.treebank import TreebankFormat
from headatlas.engine.checkpoint import differences
from headatlas.engine.run import ctrl_c
from headatlas.errors import AtlasError, SettingError, SurveyInterruptedError
from headatlas.files import make_folder, sha256
from headatlas.models.loading import choose_device, load_model
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.probes.batches import Sentences
from headatlas.probes.training import FEWEST_SENTENCES, TrainingSettings
from headatlas.probes.vectors import WordVectors, load_vectors
from headatlas.probing.jobs import Data, Record, Weights, jobs_of, run_job
from headatlas.probing.records import load_record, save_record, tables_of
from headatlas.probing.settings import ProbeSettings, choose_probes
from headatlas.probing.sources import (
    PARTS,
    Pair,
    also_in_train,
    check_pair,
    describe_part,
    open_pair,
    refuse_same_files,
)
from headatlas.results.atlas import Atlas, read_manifest, write_manifest, write_tables
from headatlas.store.index import INDEX
from headatlas.surveying import extract
from headatlas.versions import versions

_USUAL = TrainingSettings()


def probe(
    model: str | Model | None = None,
    *,
    treebank: Files | None = None,
    eval: Files | None = None,
    maps_train: str | Path | None = None,
    maps_eval: str | Path | None = None,
    out: str | Path,
    probes: Sequence[str] | None = None,
    vectors: str | Path | None = None,
    seeds: int = 3,
    seed: int = 0,
    control: bool = False,
    control_task: bool = False,
    mdl: bool = False,
    rank: int = 64,
    epochs: int = _USUAL.epochs,
    patience: int = _USUAL.patience,
    batch_sentences: int = _USUAL.batch_size,
    memory_megabytes: int = 2000,
    max_tokens: int = 128,
    batch_tokens: int = 4096,
    bootstrap: int = 1000,
    device: str = "auto",
    dtype: str = "float32",
    revision: str | None = None,
    stack: Stack | None = None,
    treebank_format: TreebankFormat = "auto",
    force: bool = False,
    trust_remote_code: bool = False,
    progress: bool = True,
) -> Atlas:
    """Train probes on a model's attention and hidden states over one treebank and score them on another.

    >>> found = probe("bert-base-uncased", treebank="train.conllu", eval="dev.conllu", out="probes")  # doctest: +SKIP
    >>> found.tables["probes"]                                                                        # doctest: +SKIP

    A run that was stopped continues with the probe and seed it was at; one that has finished is opened.
    maps_train, maps_eval: folders made by `extract`; without them maps are extracted to `out`.
    probes: names out of `PROBES`; by default all that the inputs allow.
    vectors: GloVe text, word2vec text or binary, or "glove-6b-50d", which is the default where it is installed.
    control: train the attention probes on the same network with random weights too.
    control_task: measure selectivity. mdl: measure description length, with the first seed.
    rank: of the structural probe's maps. memory_megabytes: of maps and states kept in memory between passes.
    """
    started, folder = time.monotonic(), Path(out)
    chosen, source, skipped = choose_probes(probes, None if vectors is None else str(vectors))
    settings = ProbeSettings(
        probes=chosen,
        seeds=seeds,
        seed=seed,
        rank=rank,
        epochs=epochs,
        patience=patience,
        batch_sentences=batch_sentences,
        max_tokens=max_tokens,
        bootstrap=bootstrap,
        control=control,
        control_task=control_task,
        mdl=mdl,
        treebank_format=treebank_format,
    )
    settings.check()
    target = choose_device(device)
    given = {"train": (treebank, "treebank"), "eval": (eval, "eval")}
    files = {part: find_files(paths, option) for part, (paths, option) in given.items() if paths is not None}
    refuse_same_files(files, force)
    stores = {part: path for part, path in zip(PARTS, (maps_train, maps_eval), strict=True) if path is not None}
    _check_sources(model, stores, files, control)
    loading: dict[str, Any] = {"revision": revision, "device": device, "dtype": dtype, "seed": seed}
    loading["trust_remote_code"] = trust_remote_code
    reading = {"max_tokens": max_tokens, "batch_tokens": batch_tokens, "treebank_format": treebank_format}

    def extracted(weights: Weights) -> Pair:
        random = weights == "random"
        loaded = load_model(model, random_weights=random, **loading) if isinstance(model, str) else model
        if loaded is None:
            raise SettingError("There is no MODEL to probe.")
        states = "structural" in chosen and not random
        pair = [
            extract(
                loaded,
                treebank=files[part],
                out=folder / "maps" / f"{part}{'-random' * random}",
                hidden_states=states,
                stack=stack,
                progress=progress,
                **reading,  # type: ignore[arg-type]
            )
            for part in PARTS
        ]
        return Pair(*pair)

    _refuse_file(folder)
    pair = open_pair(stores, files) if stores else extracted("pretrained")
    labels = check_pair(pair, force)
    if control and pair.train.index.settings.get("random_weights") is not None:
        raise SettingError("--control cannot be had: the maps are of random weights already.")
    if "structural" in chosen and not (pair.train.index.states and pair.eval.index.states):
        reason = "the maps have no hidden states; extract them with --hidden-states."
        if probes is not None:
            raise SettingError(f"The probe 'structural' cannot run: {reason}")
        skipped["structural"] = reason
        settings = ProbeSettings(**asdict(settings) | {"probes": tuple(p for p in chosen if p != "structural")})
    if len(pair.train) < FEWEST_SENTENCES:
        raise SettingError(
            f"{len(pair.train)} sentences are too few to train a probe on: give at least {FEWEST_SENTENCES} with "
            "--treebank. Thousands make a probe worth asking."
        )
    decisive = {part: sha256(getattr(pair, part).folder / INDEX) for part in PARTS} | asdict(settings)
    words = {word for part in PARTS for example in getattr(pair, part).examples for word in example.words or ()}
    table = load_vectors(source, words) if source is not None else None
    decisive = json.loads(json.dumps(decisive | {"vectors": table.about["sha256"] if table else None}))
    if _already_done(folder, decisive):
        return Atlas(folder)
    make_folder(folder)
    manifest = _manifest(pair, table, labels.name, decisive, skipped)
    write_manifest(folder, manifest)
    records: list[Record] = []
    with ctrl_c() as stop:

        def tick() -> None:
            if stop.is_set():
                raise SurveyInterruptedError("Stopped. What is finished is kept; the same command continues.")

        random = pair.train.index.settings.get("random_weights") is not None
        passes: list[tuple[Weights, Callable[[], Pair]]] = [("random" if random else "pretrained", lambda: pair)]
        if control:
            passes.append(("random", lambda: extracted("random")))
        for number, (weights, maps) in enumerate(passes):
            jobs = jobs_of(settings, weights, control=number > 0)
            found = [load_record(folder, job) for job in jobs]
            data = None if all(found) else _data(maps(), table, target, memory_megabytes, labels)
            for job, before in zip(jobs, found, strict=True):
                if before is None and data is not None:
                    begun = time.monotonic()
                    before = run_job(job, data, settings, tick)
                    save_record(folder, job, before)
                    if progress:
                        print(f"{job.name}: {_told(before)}, {time.monotonic() - begun:.0f} s", file=sys.stderr)
                if before is not None:
                    records.append(before)
    manifest |= {
        "complete": True,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - started, 1),
        "tables": write_tables(folder, tables_of(records)),
    }
    write_manifest(folder, manifest)
    return Atlas(folder)


def _check_sources(
    model: str | Model | None, stores: dict[str, str | Path], files: dict[str, list[Path]], control: bool
) -> None:
    """That there are two treebanks with a model, or two stores."""
    if len(stores) == 1:
        raise SettingError("Give both --maps-train and --maps-eval, or neither.")
    if not stores and model is None:
        raise SettingError("There is no MODEL to probe. Name one, or give maps: --maps-train DIR --maps-eval DIR.")
    if not stores or control:
        for part, option in (("train", "--treebank"), ("eval", "--eval")):
            if part not in files:
                raise SettingError(f"No treebank is given to {part} on. Name one with {option} FILE.")
    if stores and model is not None and not control:
        raise SettingError("MODEL and --maps-train exclude each other, but for --control. Leave one of them out.")
    if control and not isinstance(model, str):
        raise SettingError("--control loads the model by its name, with random weights. Give MODEL by its name.")


def _refuse_file(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise AtlasError(f"{folder}: is a file. Give a folder with --out.")


def _already_done(folder: Path, settings: dict[str, Any]) -> bool:
    """Whether the folder holds this very run, finished. Another's folder is refused."""
    if not (folder / "manifest.json").exists():
        return False
    manifest = read_manifest(folder)
    if differing := differences(manifest.get("settings", {}), settings):
        raise AtlasError(f"{folder}: holds other results ({'; '.join(differing)}). Choose another --out folder.")
    return bool(manifest.get("complete"))


def _data(pair: Pair, vectors: WordVectors | None, device: torch.device, megabytes: int, labels: Any) -> Data:
    memory = megabytes * 10**6
    train = Sentences(pair.train, vectors, device, memory * 3 // 4)
    return Data(train, Sentences(pair.eval, vectors, device, memory // 4), labels)


def _manifest(
    pair: Pair, vectors: WordVectors | None, labels: str, settings: dict[str, Any], skipped: dict[str, str]
) -> dict[str, Any]:
    corpora = {part: describe_part(getattr(pair, part)) | {"label_set": labels} for part in PARTS}
    corpora["eval"]["also_in_train"] = also_in_train(pair)
    if vectors is not None:
        for part in PARTS:
            sentences = [example.words or () for example in getattr(pair, part).examples]
            corpora[part]["without_vector"] = vectors.unknown(sentences)
    return {
        "complete": False,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "settings": settings,
        "model": pair.train.model,
        "vectors": vectors.about if vectors else None,
        "corpora": {"treebank": corpora["train"], "eval": corpora["eval"]},
        "studies_skipped": skipped,
        "versions": versions("numba", "pandas", "scipy"),
    }


def _told(record: Record) -> str:
    """A finished job in a few words."""
    row = max(record.probes, key=lambda row: row.get("uuas") or row.get("uas_no_punct") or 0)
    if "uuas" in row:
        return f"best UUAS {100 * row['uuas']:.1f} at layer {row['layer']}"
    return f"UAS {100 * row['uas_no_punct']:.1f} without punctuation"
