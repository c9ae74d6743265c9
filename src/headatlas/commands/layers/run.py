"""`layers`: the texts of each task, hidden states extracted once, all probes of a task trained together; the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from headatlas.choices import NetworkWeights
from headatlas.commands.extract.run import keep_inputs
from headatlas.commands.layers.jobs import Data, Drawn, Record, TaskRun
from headatlas.commands.layers.options import LayerOptions
from headatlas.commands.layers.order import order_rows
from headatlas.commands.shared.options import list_names
from headatlas.corpora.coreference.read import read_coreference
from headatlas.corpora.files import FORCE_OR_ANOTHER, PARTS, describe_files, find_files, refuse_same_files
from headatlas.corpora.sampling import draw, stable_hash
from headatlas.corpora.spans.targets import TREE_TASKS
from headatlas.corpora.spans.tasks import ADDED, ALL, COREFERENCE, SpanTask, choose_tasks, is_json, read_span_texts
from headatlas.encoding.span_segments import SpanSegment, TokenTarget, coreference_segments, span_segments
from headatlas.encoding.unknown import count_unknown
from headatlas.engine.run_folder import RunFolder
from headatlas.errors import AtlasError, CorpusError, SettingError
from headatlas.models.facts import check_length, describe_model, model_identity
from headatlas.models.loading import choose_device
from headatlas.models.model import Model
from headatlas.plugins import packages_of
from headatlas.probes.span_batches import SpanTargets, labels_of
from headatlas.probes.training import FEWEST_SENTENCES
from headatlas.progress import stage
from headatlas.results.folder import Results, make_tables, write_tables
from headatlas.store.reading import Store


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
    check_length(options.max_tokens, model.network, model.tokenizer, model.name)
    hashes = {part: [record["sha256"] for record in describe_files(files[part])] for part in PARTS}
    complete, before = run.finished(model_identity(model, stack) | options.settings()), run.earlier or {}
    earlier_tasks: dict[str, Any] = before.get("tasks", {})
    made_of = {"files": hashes, **{name: getattr(options, name) for name in ("train_limit", "eval_limit", "heads")}}
    _refuse_made_otherwise(run.folder, earlier_tasks, tasks, made_of)
    networks: dict[NetworkWeights, Callable[[], Model]] = {
        "random" if model.source.get("random_weights") else "pretrained": lambda: model
    }
    if options.control:
        networks["random"] = lambda: options.load(options.model, seed=options.seed, random_weights=options.control)
    if complete and not any(_unfinished(run, tasks, weights) for weights in networks):
        return
    with stage(f"Reading {', '.join(task.name for task in tasks)}"):
        sources = [read_source(family, files, model, options) for family in families(tasks, files)]
    sizes = _train_sizes(sources, earlier_tasks, options)
    all_tasks = earlier_tasks | {
        task.name: {**made_of, "links": task.links, "train_targets": sizes[task.name]} for task in tasks
    }
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
                _run_tasks(run, unfinished, source, sizes, weights, network(), options)
    names = [f"{task}-{weights}" for task in all_tasks for weights in networks]
    records = [record for name in names if (record := run.record(name, Record)) is not None]
    run.finish(tables=write_tables(run.folder, _tables_of(records)))


def _refuse_made_otherwise(
    folder: Path, earlier_tasks: Mapping[str, Any], tasks: Sequence[SpanTask], made_of: Mapping[str, Any]
) -> None:
    """Refuse a task that the folder holds already, but made of other files or under other limits."""
    for task in tasks:
        earlier = earlier_tasks.get(task.name, made_of)
        if differ := [name for name, value in made_of.items() if earlier[name] != value]:
            others = ["other files" if name == "files" else f"another --{name.replace('_', '-')}" for name in differ]
            raise AtlasError(
                f"{folder}: holds the task {task.name} with {' and '.join(others)}. Choose another --out folder."
            )


def _unfinished(run: RunFolder, tasks: Sequence[SpanTask], weights: NetworkWeights) -> list[SpanTask]:
    return [task for task in tasks if run.record(f"{task.name}-{weights}", Record) is None]


def _run_tasks(
    run: RunFolder,
    tasks: Sequence[SpanTask],
    source: Source,
    sizes: Mapping[str, int],
    weights: NetworkWeights,
    model: Model,
    options: LayerOptions,
) -> None:
    """Run some tasks of a source on one network and save their records. sizes: training targets of each task."""
    maps = run.folder / "maps" / f"{source.name}{'-random' * (weights == 'random')}"
    stores = {part: keep_states(source, part, model, maps / part, options) for part in PARTS}

    def make(task: SpanTask) -> Record:
        with stage(f"Training {task.name} on {weights} weights") as bar:
            data = _read_targets(task, source, sizes[task.name], stores, options)
            record = TaskRun(task, weights, data, options, run.check_stop).record()
            scores = (f"{row['mix']}: micro F1 {100 * row['score']:.1f}" for row in record.layer_summary)
            bar.advance(note=", ".join(scores))
        return record

    for task in tasks:
        run.record_once(f"{task.name}-{weights}", Record, partial(make, task))


def _train_sizes(sources: Sequence[Source], earlier_tasks: Mapping[str, Any], options: LayerOptions) -> dict[str, int]:
    """How many targets to train each task on: equally many for all, if there are enough."""
    available = {
        task.name: sum(len(segment.targets[task.name]) for segment in source.parts["train"].segments)
        for source in sources
        for task in source.tasks
    }
    earlier = [about["train_targets"] for about in earlier_tasks.values()]
    wanted = options.train_targets or min(earlier or available.values())
    return {name: min(count, wanted) for name, count in available.items()}


def _read_targets(task: SpanTask, source: Source, size: int, stores: Mapping[str, Any], options: LayerOptions) -> Data:
    """The targets of one task, in both parts, with the labels of the training part. size: training targets."""
    targets: dict[str, Any] = {}
    device, memory = choose_device(options.placed_on), options.memory_megabytes * 10**6
    given = {
        "train": sample_targets(source.parts["train"].segments, task.name, size, options.seed),
        "eval": {n: segment.targets[task.name] for n, segment in enumerate(source.parts["eval"].segments)},
    }
    trained = (target for of_text in given["train"].values() for target in of_text)
    labels = labels_of(trained, task.negative, counted=task.links)
    for part, quarters in zip(PARTS, (3, 1), strict=True):
        of_texts = {number: of_text for number, of_text in given[part].items() if of_text}
        share = memory * quarters // 4
        targets[part] = SpanTargets(stores[part], list(of_texts), list(of_texts.values()), labels, device, share)
        targets[f"{part}_texts"] = [source.parts[part].segments[number] for number in of_texts]
    return Data(**targets)


def sample_targets(
    segments: Sequence[SpanSegment], task: str, size: int, seed: int
) -> dict[int, tuple[TokenTarget, ...]]:
    """Targets of texts drawn at random, by the numbers of the texts: all of each, but for the last, up to `size`."""
    sampled: dict[int, tuple[TokenTarget, ...]] = {}
    hashes = [stable_hash(f"{seed} targets {segment.id}") for segment in segments]
    for number in sorted(range(len(segments)), key=hashes.__getitem__):
        of_text = segments[number].targets[task][:size]
        sampled[number] = of_text
        size -= len(of_text)
    return dict(sorted(sampled.items()))


def _tables_of(records: Sequence[Record]) -> dict[str, pd.DataFrame]:
    names = ("layer_mix", "layer_summary", "layer_examples", "head_mix")
    rows = {name: [row for record in records for row in getattr(record, name)] for name in names}
    rows["layer_order"] = order_rows(
        [
            (row, {name: Drawn(**drawn) for name, drawn in record.drawn[row["mix"]].items()})
            for record in records
            for row in record.layer_summary
            if row["weights"] == "pretrained"
        ]
    )
    return make_tables(rows)


# Texts with their targets and the hidden states of their tokens, read once for all tasks of one corpus.

MapFiles = Mapping[str, Sequence[Path]]


@dataclass(frozen=True)
class Part:
    """The texts to train on, or those to score on."""

    segments: list[SpanSegment]
    about: dict[str, Any]  # for the manifest


@dataclass(frozen=True)
class Source:
    """The texts that some tasks share."""

    tasks: tuple[SpanTask, ...]
    parts: Mapping[str, Part]

    @property
    def name(self) -> str:
        """Its name in folders."""
        return "+".join(task.name for task in self.tasks)


def families(tasks: Sequence[SpanTask], files: MapFiles) -> list[tuple[SpanTask, ...]]:
    """Group the tasks by texts: those of a treebank together, every other by itself."""
    if all(is_json(path) for paths in files.values() for path in paths):
        return [(task,) for task in tasks]
    trees = tuple(task for task in tasks if task.name in TREE_TASKS)
    return [*([trees] if trees else []), *((task,) for task in tasks if task not in trees)]


def read_source(tasks: tuple[SpanTask, ...], files: MapFiles, model: Model, options: LayerOptions) -> Source:
    """Read and encode both parts; refuse what cannot be trained or scored."""
    parts = {part: _read_part(tasks, part, files[part], model, options) for part in PARTS}
    known = {segment.text for segment in parts["train"].segments}
    parts["eval"].about["also_in_train"] = sum(segment.text in known for segment in parts["eval"].segments)
    for task in tasks:
        _check_task(task.name, parts)
    return Source(tasks, parts)


def keep_states(source: Source, part: str, model: Model, folder: Path, options: LayerOptions) -> Store:
    """Store the hidden states of a part's texts, and their maps if heads are mixed; open them if they are stored."""
    about = source.parts[part].about
    return keep_inputs(
        model,
        source.parts[part].segments,
        (),
        corpora={source.name: {name: about[name] for name in ("files", "left_out")}},
        settings={
            "corpus": [record["sha256"] for record in about["files"]],
            "tasks": source.name,
            "max_tokens": options.max_tokens,
            "limit": options.limit(part),
            "seed": options.seed,
            "batch_tokens": options.batch_tokens,
        },
        out=folder,
        level="tokens",
        maps=options.heads and any(task.links for task in source.tasks),
        hidden_states=True,
        batch_tokens=options.batch_tokens,
        stack=model.choose_stack(options.attention),
    )


def _read_part(
    tasks: tuple[SpanTask, ...], part: str, files: Sequence[Path], model: Model, options: LayerOptions
) -> Part:
    left_out: Counter[str] = Counter()
    reading: dict[str, Any] = {"max_tokens": options.max_tokens, "left_out": left_out}
    names = [task.name for task in tasks]
    if names == [COREFERENCE] and not any(map(is_json, files)):
        documents = read_coreference(files, left_out=left_out)
        segments = coreference_segments(documents, model.tokenizer, COREFERENCE, seed=options.seed, **reading)
    else:
        texts = read_span_texts(files, names, options.seed, left_out)
        segments = span_segments(texts, model.tokenizer, **reading)
    chosen = draw(segments, options.limit(part), options.seed, key=lambda segment: f"limit {segment.id}")
    left_out["text_beyond_the_limit"] += len(segments) - len(chosen)
    about = {
        "kind": "spans",
        "files": describe_files(list(files)),
        "texts": len(chosen),
        "words": sum(segment.size for segment in chosen),
        "tokens": sum(map(len, chosen)),
        "unknown": count_unknown(chosen, model.tokenizer),
        "targets": {name: sum(len(segment.targets[name]) for segment in chosen) for name in names},
        "left_out": {reason: count for reason, count in sorted(left_out.items()) if count},
    }
    return Part(chosen, about)


def _check_task(task: str, parts: Mapping[str, Part]) -> None:
    """Refuse a task without enough texts, two labels, or the same kind of targets in both parts."""
    texts = {part: [segment for segment in parts[part].segments if segment.targets[task]] for part in PARTS}
    for part in PARTS:
        if not texts[part]:
            names = ", ".join(record["file"] for record in parts[part].about["files"])
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in parts[part].about["left_out"].items())
            raise SettingError(
                f"--{part} {names}: has no target for the task {task}{f' ({reasons})' if reasons else ''}."
            )
    if len(texts["train"]) < FEWEST_SENTENCES:
        raise SettingError(
            f"{len(texts['train'])} texts with targets are too few to train on for the task {task}: give at least "
            f"{FEWEST_SENTENCES} with --train. A useful probe needs thousands."
        )
    spans = None
    for part in PARTS:
        for target in (target for segment in texts[part] for target in segment.targets[task]):
            spans = spans or len(target.spans)
            if len(target.spans) != spans:
                problem = f"has a target of {len(target.spans)} spans, while others of the task {task} have {spans}"
                raise CorpusError(f"{problem}. Give one kind of target.", target.path, target.line)
    labels = {
        part: {label for segment in texts[part] for target in segment.targets[task] for label in target.labels}
        for part in PARTS
    }
    if len(labels["train"]) < 2:
        only = next(iter(labels["train"]), "none")
        raise SettingError(f"The task {task} has only one label in training ({only}). Give texts with at least two.")
    if not labels["train"] & labels["eval"]:
        names_of_eval = ", ".join(sorted(labels["eval"])[:5])
        raise SettingError(
            f"No label of --eval ({names_of_eval}) occurs in --train: these are two tasks. Give parts of one corpus."
        )
