"""`layers`: the texts of each task, hidden states extracted once, all probes of a task trained together; the tables."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from headatlas.commands.layers.jobs import Data, Record, Weights, run_task
from headatlas.commands.layers.records import load_record, save_record, tables_of
from headatlas.commands.layers.settings import LayerSettings
from headatlas.commands.layers.sources import Source, families, keep_states, read_source
from headatlas.corpora.files import FORCE_OR_ANOTHER, PARTS, Files, describe_files, find_files, refuse_same_files
from headatlas.corpora.spans.tasks import ALL, SpanTask, choose_tasks
from headatlas.engine.locking import alone_in_out
from headatlas.engine.stopping import KEPT, ctrl_c
from headatlas.errors import AtlasError, SettingError, SurveyInterruptedError
from headatlas.files import make_folder
from headatlas.models.identity import describe_model, model_identity
from headatlas.models.loading import choose_device, choose_dtype, load_model, open_model
from headatlas.models.model import Model, check_length
from headatlas.models.stacks import Stack
from headatlas.probes.span_batches import SpanTargets, labels_of
from headatlas.results.atlas import Atlas, read_manifest, write_manifest, write_tables
from headatlas.results.finished import refuse_other_run
from headatlas.versions import moment, versions


@alone_in_out("layers")
def layers(
    model: str | Model,
    *,
    task: str | Sequence[str] = ALL,
    train: Files,
    eval: Files,
    out: str | Path,
    seeds: int = 3,
    seed: int = 0,
    width: int = 64,
    epochs: int = 20,
    patience: int = 2,
    batch_targets: int = 128,
    train_limit: int | None = None,
    eval_limit: int | None = None,
    heads: bool = True,
    control: bool = False,
    control_task: bool = False,
    mdl: bool = False,
    examples: int = 10,
    bootstrap: int = 1000,
    memory_megabytes: int = 2000,
    max_tokens: int = 128,
    batch_tokens: int = 4096,
    device: str = "auto",
    dtype: str = "float32",
    revision: str | None = None,
    stack: Stack | None = None,
    force: bool = False,
    trust_remote_code: bool = False,
    progress: bool = True,
) -> Atlas:
    """Ask of every layer what it adds to a task on spans, by scalar mixes and cumulative scores.

    >>> found = layers("bert-base-uncased", train="train.conllu", eval="dev.conllu", out="layers")   # doctest: +SKIP
    >>> found.tables["layer_summary"]                                                                 # doctest: +SKIP

    task: pos, dependencies, arcs, entities, coreference, relations, keyphrases; `all` that the files can answer; or any
    name for files in JSON lines as jiant has them. A folder takes in more tasks, also from other files, and orders them
    all.
    train_limit, eval_limit: take at most so many texts, drawn by the seed.
    heads: mix heads too, for tasks that ask whether two spans are joined.
    control: the same on the network with random weights. control_task: measure selectivity. mdl: description length.
    width: of the probes' projections. memory_megabytes: of states kept in memory between passes.
    """
    started, folder = time.monotonic(), Path(out)
    settings = LayerSettings(
        seeds=seeds,
        seed=seed,
        width=width,
        epochs=epochs,
        patience=patience,
        batch_targets=batch_targets,
        max_tokens=max_tokens,
        train_limit=train_limit,
        eval_limit=eval_limit,
        bootstrap=bootstrap,
        examples=examples,
        heads=heads,
        control=control,
        control_task=control_task,
        mdl=mdl,
    )
    settings.check()
    target = choose_device(device)
    choose_dtype(dtype)
    if control and not isinstance(model, str):
        raise SettingError("--control loads the model by its name, with random weights. Give MODEL by its name.")
    files = {part: find_files(paths, part, folders=True) for part, paths in zip(PARTS, (train, eval), strict=True)}
    if not force:
        refuse_same_files(files, FORCE_OR_ANOTHER)
    tasks = choose_tasks([task] if isinstance(task, str) else list(task), [files[part] for part in PARTS])
    loading: dict[str, Any] = {"revision": revision, "device": device, "dtype": dtype, "seed": seed}
    loading["trust_remote_code"] = trust_remote_code
    loaded = open_model(model, **loading)
    chosen_stack = loaded.choose_stack(stack)
    check_length(max_tokens, loaded.longest_input, loaded.name)
    decisive = json.loads(json.dumps(model_identity(loaded, chosen_stack) | asdict(settings)))
    hashes = {part: [record["sha256"] for record in describe_files(files[part])] for part in PARTS}
    before = _continued(folder, decisive, {one.name: hashes for one in tasks})
    new = {one.name: {"files": hashes, "links": one.links} for one in tasks}
    own: Weights = "random" if loaded.source.get("random_weights") else "pretrained"
    networks: list[tuple[Weights, Callable[[], Model]]] = [(own, lambda: loaded)]
    if control:
        networks.append(("random", lambda: load_model(str(model), random_weights=True, **loading)))
    finished = all(load_record(folder, one.name, weights) for one in tasks for weights, _ in networks)
    if before.get("complete") and finished:
        return Atlas(folder)
    sources = [read_source(family, files, loaded, settings) for family in families(tasks, files)]
    make_folder(folder)
    manifest: dict[str, Any] = {
        "complete": False,
        "started": moment(),
        "settings": decisive,
        "model": describe_model(loaded, chosen_stack),
        "tasks": before.get("tasks", {}) | new,
        "corpora": before.get("corpora", {})
        | {f"{source.name}, {part}": source.parts[part].about for source in sources for part in PARTS},
        "studies_skipped": {},
        "versions": versions("numba", "pandas", "scipy"),
    }
    write_manifest(folder, manifest)
    reading = {"batch_tokens": batch_tokens, "stack": chosen_stack, "progress": progress}
    memory = memory_megabytes * 10**6
    with ctrl_c() as stop:

        def tick() -> None:
            if stop.is_set():
                raise SurveyInterruptedError(f"Stopped. {KEPT}")

        for source in sources:
            for weights, network in networks:
                if all(load_record(folder, one.name, weights) for one in source.tasks):
                    continue
                place = folder / "maps" / f"{source.name}{'-random' * (weights == 'random')}"
                stores = {part: keep_states(source, part, network(), place / part, settings, reading) for part in PARTS}
                for one in source.tasks:
                    if load_record(folder, one.name, weights) is None:
                        begun = time.monotonic()
                        data = task_data(one, source, stores, target, memory)
                        record = run_task(one, weights, data, settings, tick)
                        save_record(folder, one.name, weights, record)
                        if progress:
                            _tell(record, time.monotonic() - begun)
    found = [load_record(folder, name, weights) for name in manifest["tasks"] for weights, _ in networks]
    manifest |= {
        "complete": True,
        "finished": moment(),
        "seconds": round(time.monotonic() - started, 1),
        "tables": write_tables(folder, tables_of([one for one in found if one is not None])),
    }
    write_manifest(folder, manifest)
    return Atlas(folder)


def task_data(
    task: SpanTask, source: Source, stores: Mapping[str, Any], device: torch.device, memory_bytes: int
) -> Data:
    """The targets of one task, in both parts, with the labels of the training part."""
    found: dict[str, Any] = {}
    trained = (target for segment in source.parts["train"].segments for target in segment.targets[task.name])
    labels = labels_of(trained, task.negative, counted=task.links)
    for part, share in zip(PARTS, (3, 1), strict=True):
        segments = source.parts[part].segments
        numbers = [number for number, segment in enumerate(segments) if segment.targets[task.name]]
        targets = [segments[number].targets[task.name] for number in numbers]
        found[part] = SpanTargets(stores[part], numbers, targets, labels, device, memory_bytes * share // 4)
        found[f"{part}_texts"] = [segments[number] for number in numbers]
    return Data(**found)


def _continued(folder: Path, settings: dict[str, Any], tasks: dict[str, Any]) -> dict[str, Any]:
    """The manifest of the folder, where it holds tasks under the same settings. Another's folder is refused."""
    if not (folder / "manifest.json").exists():
        return {}
    manifest = read_manifest(folder)
    if "tasks" not in manifest:
        raise AtlasError(f"{folder}: holds other results, not those of layers. Choose another --out folder.")
    refuse_other_run(folder, manifest, settings)
    for name, files in tasks.items():
        if name in manifest["tasks"] and manifest["tasks"][name]["files"] != files:
            raise AtlasError(f"{folder}: holds the task {name} of other files. Choose another --out folder.")
    return manifest


def _tell(record: Record, seconds: float) -> None:
    for row in record.layer_summary:
        about = f"{row['task']}, {row['mix']}, {row['weights']}: micro F1 {100 * row['score']:.1f}"
        print(f"{about}, centre of gravity {row['centre_of_gravity']:.2f}, {seconds:.0f} s", file=sys.stderr)
