"""`layers`: the texts of each task, hidden states extracted once, all probes of a task trained together; the tables."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.commands.layers.jobs import Data, Record, TaskRun
from headatlas.commands.layers.options import LayerOptions
from headatlas.commands.layers.replicates import order_rows
from headatlas.commands.layers.sources import Source, families, keep_states, read_source
from headatlas.commands.shared.options import list_names
from headatlas.commands.shared.records import load_record, make_tables, save_record
from headatlas.commands.shared.training import NetworkWeights
from headatlas.corpora.files import FORCE_OR_ANOTHER, PARTS, describe_files, find_files, refuse_same_files
from headatlas.corpora.spans.tasks import ALL, SpanTask, choose_tasks
from headatlas.engine.stopping import KEPT, ctrl_c
from headatlas.errors import AtlasError, SurveyInterruptedError
from headatlas.files import make_folder
from headatlas.models.identity import describe_model, model_identity
from headatlas.models.loading import choose_device
from headatlas.models.model import Model, check_length
from headatlas.probes.span_batches import SpanTargets, labels_of
from headatlas.results.atlas import Atlas, read_manifest, refuse_other_run, write_manifest, write_tables
from headatlas.versions import moment, versions


def run_layers(options: LayerOptions) -> Atlas:
    """Read the texts of each task, extract hidden states once, train all probes, and write the tables.

    A finished folder takes in more tasks, also from other files, under the same settings.
    """
    started, folder = time.monotonic(), Path(options.out)
    choose_device(options.placed_on)
    files = {
        part: find_files(paths, part, folders=True)
        for part, paths in zip(PARTS, (options.train, options.eval), strict=True)
    }
    if not options.force:
        refuse_same_files(files, FORCE_OR_ANOTHER)
    tasks = choose_tasks(list_names(options.task) or [ALL], [files[part] for part in PARTS])
    model = options.load(options.model, seed=options.seed)
    stack = model.choose_stack(options.attention)
    check_length(options.max_tokens, model.longest_input, model.name)
    settings = json.loads(json.dumps(model_identity(model, stack) | options.settings()))
    hashes = {part: [record["sha256"] for record in describe_files(files[part])] for part in PARTS}
    before = _read_earlier(folder, settings, {task.name: hashes for task in tasks})
    networks: dict[NetworkWeights, Callable[[], Model]] = {
        "random" if model.source.get("random_weights") else "pretrained": lambda: model
    }
    if options.control:
        networks["random"] = lambda: options.load(options.model, seed=options.seed, random_weights=True)
    if before.get("complete") and not any(_unfinished(folder, tasks, weights) for weights in networks):
        return Atlas(folder)
    sources = [read_source(family, files, model, options) for family in families(tasks, files)]
    make_folder(folder)
    manifest: dict[str, Any] = {
        "complete": False,
        "started": moment(),
        "settings": settings,
        "model": describe_model(model, stack),
        "tasks": before.get("tasks", {}) | {task.name: {"files": hashes, "links": task.links} for task in tasks},
        "corpora": before.get("corpora", {})
        | {f"{source.name}, {part}": source.parts[part].about for source in sources for part in PARTS},
        "studies_skipped": {},
        "versions": versions("numba", "pandas", "scipy"),
    }
    write_manifest(folder, manifest)
    with ctrl_c() as stop:

        def check_stop() -> None:
            if stop.is_set():
                raise SurveyInterruptedError(f"Stopped. {KEPT}")

        for source in sources:
            for weights, network in networks.items():
                if unfinished := _unfinished(folder, source.tasks, weights):
                    _run_tasks(unfinished, source, weights, network(), options, check_stop)
    names = [f"{task}-{weights}" for task in manifest["tasks"] for weights in networks]
    records = [record for name in names if (record := load_record(folder, name, Record)) is not None]
    manifest |= {
        "complete": True,
        "finished": moment(),
        "seconds": round(time.monotonic() - started, 1),
        "tables": write_tables(folder, _tables_of(records)),
    }
    write_manifest(folder, manifest)
    return Atlas(folder)


def _read_earlier(folder: Path, settings: dict[str, Any], tasks: dict[str, Any]) -> dict[str, Any]:
    """Read the manifest of a folder that holds tasks under the same settings; refuse a folder of anything else."""
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


def _unfinished(folder: Path, tasks: Sequence[SpanTask], weights: NetworkWeights) -> list[SpanTask]:
    return [task for task in tasks if load_record(folder, f"{task.name}-{weights}", Record) is None]


def _run_tasks(
    tasks: Sequence[SpanTask],
    source: Source,
    weights: NetworkWeights,
    model: Model,
    options: LayerOptions,
    check_stop: Callable[[], None],
) -> None:
    """Run some tasks of a source on one network and save their records."""
    folder = Path(options.out)
    maps = folder / "maps" / f"{source.name}{'-random' * (weights == 'random')}"
    stores = {part: keep_states(source, part, model, maps / part, options) for part in PARTS}
    for task in tasks:
        started = time.monotonic()
        data = _read_targets(task, source, stores, options)
        record = TaskRun(task, weights, data, options, check_stop).record()
        save_record(folder, f"{task.name}-{weights}", record)
        for row in record.layer_summary if options.progress else ():
            about = f"{row['task']}, {row['mix']}, {row['weights']}: micro F1 {100 * row['score']:.1f}"
            seconds = time.monotonic() - started
            print(f"{about}, centre of gravity {row['centre_of_gravity']:.2f}, {seconds:.0f} s", file=sys.stderr)


def _read_targets(task: SpanTask, source: Source, stores: Mapping[str, Any], options: LayerOptions) -> Data:
    """The targets of one task, in both parts, with the labels of the training part."""
    targets: dict[str, Any] = {}
    device, memory = choose_device(options.placed_on), options.memory_megabytes * 10**6
    trained = (target for segment in source.parts["train"].segments for target in segment.targets[task.name])
    labels = labels_of(trained, task.negative, counted=task.links)
    for part, quarters in zip(PARTS, (3, 1), strict=True):
        segments = source.parts[part].segments
        numbers = [number for number, segment in enumerate(segments) if segment.targets[task.name]]
        of_texts = [segments[number].targets[task.name] for number in numbers]
        targets[part] = SpanTargets(stores[part], numbers, of_texts, labels, device, memory * quarters // 4)
        targets[f"{part}_texts"] = [segments[number] for number in numbers]
    return Data(**targets)


def _tables_of(records: Sequence[Record]) -> dict[str, pd.DataFrame]:
    names = ("layer_mix", "layer_summary", "layer_examples", "head_mix")
    rows = {name: [row for record in records for row in getattr(record, name)] for name in names}
    summaries = [(row, record.drawn[row["mix"]]) for record in records for row in record.layer_summary]
    rows["layer_order"] = order_rows([(row, drawn) for row, drawn in summaries if row["weights"] == "pretrained"])
    return make_tables(rows)
