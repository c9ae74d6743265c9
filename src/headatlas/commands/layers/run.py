"""`layers`: the texts of each task, hidden states extracted once, all probes of a task trained together; the tables."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from headatlas.commands.layers.jobs import Data, Record, Weights, run_task
from headatlas.commands.layers.options import LayerOptions
from headatlas.commands.layers.records import load_record, save_record, tables_of
from headatlas.commands.layers.sources import Source, families, keep_states, read_source
from headatlas.commands.shared.options import list_names
from headatlas.corpora.files import FORCE_OR_ANOTHER, PARTS, describe_files, find_files, refuse_same_files
from headatlas.corpora.spans.tasks import ALL, SpanTask, choose_tasks
from headatlas.engine.stopping import KEPT, ctrl_c
from headatlas.errors import AtlasError, SurveyInterruptedError
from headatlas.files import make_folder
from headatlas.models.identity import describe_model, model_identity
from headatlas.models.loading import choose_device
from headatlas.models.model import Model, check_length
from headatlas.probes.span_batches import SpanTargets, labels_of
from headatlas.results.atlas import Atlas, read_manifest, write_manifest, write_tables
from headatlas.results.finished import refuse_other_run
from headatlas.versions import moment, versions


def run_layers(options: LayerOptions) -> Atlas:
    """Read the texts of each task, extract hidden states once, train all probes, and write the tables.

    A finished folder takes in more tasks, also from other files, under the same settings.
    """
    started, folder = time.monotonic(), Path(options.out)
    target = choose_device(options.placed_on)
    files = {
        part: find_files(paths, part, folders=True)
        for part, paths in zip(PARTS, (options.train, options.eval), strict=True)
    }
    if not options.force:
        refuse_same_files(files, FORCE_OR_ANOTHER)
    tasks = choose_tasks(list_names(options.task) or [ALL], [files[part] for part in PARTS])
    loaded = options.load(options.model, seed=options.seed)
    chosen_stack = loaded.choose_stack(options.attention)
    check_length(options.max_tokens, loaded.longest_input, loaded.name)
    decisive = json.loads(json.dumps(model_identity(loaded, chosen_stack) | options.settings()))
    hashes = {part: [record["sha256"] for record in describe_files(files[part])] for part in PARTS}
    before = _continued(folder, decisive, {one.name: hashes for one in tasks})
    new = {one.name: {"files": hashes, "links": one.links} for one in tasks}
    own: Weights = "random" if loaded.source.get("random_weights") else "pretrained"
    networks: list[tuple[Weights, Callable[[], Model]]] = [(own, lambda: loaded)]
    if options.control:
        networks.append(("random", lambda: options.load(options.model, seed=options.seed, random_weights=True)))
    finished = all(load_record(folder, one.name, weights) for one in tasks for weights, _ in networks)
    if before.get("complete") and finished:
        return Atlas(folder)
    sources = [read_source(family, files, loaded, options) for family in families(tasks, files)]
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
    reading = {"batch_tokens": options.batch_tokens, "stack": chosen_stack, "progress": options.progress}
    memory = options.memory_megabytes * 10**6
    with ctrl_c() as stop:

        def tick() -> None:
            if stop.is_set():
                raise SurveyInterruptedError(f"Stopped. {KEPT}")

        for source in sources:
            for weights, network in networks:
                if all(load_record(folder, one.name, weights) for one in source.tasks):
                    continue
                place = folder / "maps" / f"{source.name}{'-random' * (weights == 'random')}"
                stores = {part: keep_states(source, part, network(), place / part, options, reading) for part in PARTS}
                for one in source.tasks:
                    if load_record(folder, one.name, weights) is None:
                        begun = time.monotonic()
                        data = task_data(one, source, stores, target, memory)
                        record = run_task(one, weights, data, options, tick)
                        save_record(folder, one.name, weights, record)
                        if options.progress:
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
