"""`probe`: maps of a training and a scoring treebank, every probe with every seed, and their tables."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from headatlas.commands.probe.jobs import Data, Record, Weights, jobs_of, run_job
from headatlas.commands.probe.manifest import begun_manifest
from headatlas.commands.probe.maps import MapSource
from headatlas.commands.probe.records import load_record, save_record, tables_of
from headatlas.commands.probe.settings import ProbeSettings, choose_probes
from headatlas.commands.probe.sources import Pair, check_pair
from headatlas.corpora.files import FORCE_OR_ANOTHER, PARTS, Files, find_files, refuse_same_files
from headatlas.corpora.treebanks.read import TreebankFormat
from headatlas.engine.locking import alone_in_out
from headatlas.engine.stopping import KEPT, ctrl_c
from headatlas.errors import SettingError, SurveyInterruptedError
from headatlas.files import make_folder, sha256
from headatlas.models.loading import choose_device
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.probes.batches import Sentences
from headatlas.probes.training import FEWEST_SENTENCES, TrainingSettings
from headatlas.probes.vectors import WordVectors, load_vectors
from headatlas.results.atlas import Atlas, write_manifest, write_tables
from headatlas.results.finished import already_done
from headatlas.store.index import INDEX
from headatlas.versions import moment

_USUAL = TrainingSettings()


@alone_in_out("probe")
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
    sentences: int | None = None,
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
    control: train the attention probes on the same network with random weights too, on the same sentences.
    sentences: train on so many, drawn by the seed; by default on all.
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
        sentences=sentences,
        treebank_format=treebank_format,
    )
    settings.check()
    files = _files(treebank, eval, force)
    stores = {part: path for part, path in zip(PARTS, (maps_train, maps_eval), strict=True) if path is not None}
    loading: dict[str, Any] = {"revision": revision, "device": device, "dtype": dtype, "seed": seed}
    loading["trust_remote_code"] = trust_remote_code
    maps = MapSource(model, files, stores, folder, loading, stack, batch_tokens, progress)
    target = choose_device(device)
    maps.check(control)
    reading = {"max_tokens": max_tokens, "format": {"treebank": treebank_format}, "seed": seed}
    drawn = {"train": reading | {"sentences": sentences}, "eval": reading | {"sentences": None}}
    pair = maps.pretrained("structural" in chosen, drawn)
    labels = check_pair(pair, force)
    settings, lacking = _possible(settings, pair, asked=probes is not None)
    words = {word for part in PARTS for example in getattr(pair, part).examples for word in example.words or ()}
    table = load_vectors(source, words) if source is not None else None
    decisive = _decisive(pair, settings, table)
    if already_done(folder, decisive):
        return Atlas(folder)
    make_folder(folder)
    manifest = begun_manifest(pair, table, labels.name, decisive, skipped | lacking)
    write_manifest(folder, manifest)

    def data(pair: Pair) -> Data:
        memory = memory_megabytes * 10**6
        train = Sentences(pair.train, table, target, memory * 3 // 4)
        return Data(train, Sentences(pair.eval, table, target, memory // 4), labels)

    random = pair.train.index.settings.get("random_weights") is not None
    passes: list[_Pass] = [("random" if random else "pretrained", False, lambda: data(pair))]
    if control:
        passes.append(("random", True, lambda: data(maps.control(pair))))
    records = _run_passes(folder, passes, settings, progress)
    manifest |= {
        "complete": True,
        "finished": moment(),
        "seconds": round(time.monotonic() - started, 1),
        "tables": write_tables(folder, tables_of(records)),
    }
    write_manifest(folder, manifest)
    return Atlas(folder)


_Pass = tuple[Weights, bool, Callable[[], Data]]
"""Whose weights are read, whether they are the control's, and the sentences with their maps."""


def _files(treebank: Files | None, scored: Files | None, force: bool) -> dict[str, list[Path]]:
    """The treebanks that are given, which exist and are not the same."""
    given = {"train": (treebank, "treebank"), "eval": (scored, "eval")}
    files = {part: find_files(paths, option) for part, (paths, option) in given.items() if paths is not None}
    if not force:
        refuse_same_files(files, FORCE_OR_ANOTHER)
    return files


def _possible(settings: ProbeSettings, pair: Pair, asked: bool) -> tuple[ProbeSettings, dict[str, str]]:
    """The settings without what the maps do not allow, and why; refused where it was asked for by name."""
    if settings.control and pair.train.index.settings.get("random_weights") is not None:
        raise SettingError("--control cannot be had: the maps are of random weights already.")
    if len(pair.train) < FEWEST_SENTENCES:
        raise SettingError(
            f"{len(pair.train)} sentences are too few to train a probe on: give at least {FEWEST_SENTENCES} with "
            "--treebank. Thousands make a probe worth asking."
        )
    if "structural" not in settings.probes or (pair.train.index.states and pair.eval.index.states):
        return settings, {}
    reason = "the maps have no hidden states; extract them with --hidden-states."
    if asked:
        raise SettingError(f"The probe 'structural' cannot run: {reason}")
    return replace(settings, probes=tuple(p for p in settings.probes if p != "structural")), {"structural": reason}


def _decisive(pair: Pair, settings: ProbeSettings, vectors: WordVectors | None) -> dict[str, Any]:
    """What decides the outcome: maps, settings and word vectors, as a manifest keeps it."""
    maps = {part: sha256(getattr(pair, part).folder / INDEX) for part in PARTS}
    decisive = maps | asdict(settings) | {"vectors": vectors.about["sha256"] if vectors else None}
    return dict(json.loads(json.dumps(decisive)))


def _run_passes(folder: Path, passes: Sequence[_Pass], settings: ProbeSettings, progress: bool) -> list[Record]:
    """Every job that has left no record yet; the records of all, in order. Maps are read only where a job is left."""
    records: list[Record] = []
    with ctrl_c() as stop:

        def tick() -> None:
            if stop.is_set():
                raise SurveyInterruptedError(f"Stopped. {KEPT}")

        for weights, control, read in passes:
            jobs = jobs_of(settings, weights, control)
            found = {job: load_record(folder, job) for job in jobs}
            data = read() if None in found.values() else None
            for job, before in found.items():
                if before is None and data is not None:
                    begun = time.monotonic()
                    before = run_job(job, data, settings, tick)
                    save_record(folder, job, before)
                    if progress:
                        print(f"{job.name}: {_told(before)}, {time.monotonic() - begun:.0f} s", file=sys.stderr)
                if before is not None:
                    records.append(before)
    return records


def _told(record: Record) -> str:
    """A finished job in a few words."""
    row = max(record.probes, key=lambda row: row.get("uuas") or row.get("uas_no_punct") or 0)
    if "uuas" in row:
        return f"best UUAS {100 * row['uuas']:.1f} at layer {row['layer']}"
    return f"UAS {100 * row['uas_no_punct']:.1f} without punctuation"
