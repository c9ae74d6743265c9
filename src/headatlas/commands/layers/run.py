"""`layers`: the texts of each task, hidden states extracted once, all probes of a task trained together; the tables."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.commands.layers.jobs import Data, Record, TaskRun
from headatlas.commands.layers.options import LayerOptions
from headatlas.commands.layers.replicates import order_rows
from headatlas.commands.layers.sources import Source, families, keep_states, read_source
from headatlas.commands.shared.options import list_names
from headatlas.commands.shared.training import NetworkWeights
from headatlas.corpora.files import FORCE_OR_ANOTHER, PARTS, describe_files, find_files, refuse_same_files
from headatlas.corpora.spans.tasks import ADDED, ALL, SpanTask, choose_tasks
from headatlas.engine.run_folder import RunFolder
from headatlas.errors import AtlasError
from headatlas.models.identity import describe_model, model_identity
from headatlas.models.loading import choose_device
from headatlas.models.model import Model, check_length
from headatlas.plugins import packages_of
from headatlas.probes.span_batches import SpanTargets, labels_of
from headatlas.results.folder import Results, make_tables, write_tables


def run_layers(options: LayerOptions) -> Results:
    """Read the texts of each task, extract hidden states once, train all probes, and write the tables.

    A finished folder takes in more tasks, also from other files, under the same settings.
    """
    with RunFolder(options.out, "layers") as run:
        _probe_layers(options, run)
        return Results(run.folder)


def _probe_layers(options: LayerOptions, run: RunFolder) -> None:
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
    hashes = {part: [record["sha256"] for record in describe_files(files[part])] for part in PARTS}
    complete, before = run.finished(model_identity(model, stack) | options.settings()), run.earlier or {}
    earlier_tasks: dict[str, Any] = before.get("tasks", {})
    _refuse_other_files(run.folder, earlier_tasks, tasks, hashes)
    networks: dict[NetworkWeights, Callable[[], Model]] = {
        "random" if model.source.get("random_weights") else "pretrained": lambda: model
    }
    if options.control:
        networks["random"] = lambda: options.load(options.model, seed=options.seed, random_weights=True)
    if complete and not any(_unfinished(run, tasks, weights) for weights in networks):
        return
    sources = [read_source(family, files, model, options) for family in families(tasks, files)]
    all_tasks = earlier_tasks | {task.name: {"files": hashes, "links": task.links} for task in tasks}
    read = {f"{source.name}, {part}": source.parts[part].about for source in sources for part in PARTS}
    run.begin(
        model=describe_model(model, stack),
        tasks=all_tasks,
        corpora=before.get("corpora", {}) | read,
        plugins=packages_of(ADDED, all_tasks),
        studies_skipped={},
    )
    for source in sources:
        for weights, network in networks.items():
            if unfinished := _unfinished(run, source.tasks, weights):
                _run_tasks(run, unfinished, source, weights, network(), options)
    names = [f"{task}-{weights}" for task in all_tasks for weights in networks]
    records = [record for name in names if (record := run.record(name, Record)) is not None]
    run.finish(tables=write_tables(run.folder, _tables_of(records)))


def _refuse_other_files(
    folder: Path, earlier_tasks: Mapping[str, Any], tasks: Sequence[SpanTask], hashes: Mapping[str, Any]
) -> None:
    """Refuse a task that the folder holds already, but of other files."""
    for task in tasks:
        if task.name in earlier_tasks and earlier_tasks[task.name]["files"] != hashes:
            raise AtlasError(f"{folder}: holds the task {task.name} of other files. Choose another --out folder.")


def _unfinished(run: RunFolder, tasks: Sequence[SpanTask], weights: NetworkWeights) -> list[SpanTask]:
    return [task for task in tasks if run.record(f"{task.name}-{weights}", Record) is None]


def _run_tasks(
    run: RunFolder,
    tasks: Sequence[SpanTask],
    source: Source,
    weights: NetworkWeights,
    model: Model,
    options: LayerOptions,
) -> None:
    """Run some tasks of a source on one network and save their records."""
    maps = run.folder / "maps" / f"{source.name}{'-random' * (weights == 'random')}"
    stores = {part: keep_states(source, part, model, maps / part, options) for part in PARTS}

    def make(task: SpanTask) -> Record:
        started = time.monotonic()
        data = _read_targets(task, source, stores, options)
        record = TaskRun(task, weights, data, options, run.check_stop).record()
        for row in record.layer_summary if options.progress else ():
            about = f"{row['task']}, {row['mix']}, {row['weights']}: micro F1 {100 * row['score']:.1f}"
            seconds = time.monotonic() - started
            print(f"{about}, centre of gravity {row['centre_of_gravity']:.2f}, {seconds:.0f} s", file=sys.stderr)
        return record

    for task in tasks:
        run.record_once(f"{task.name}-{weights}", Record, partial(make, task))


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
